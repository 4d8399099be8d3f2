//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser is a tab of Chromium. What it must not do is collected in wrong: to write
// an error to its console, and to ask any other server.
type browser struct {
	t     *testing.T
	ctx   context.Context
	mu    sync.Mutex
	home  string // what it may ask begins so
	wrong []string
	down  bool // the server is away on purpose
}

// newBrowser starts a browser, or skips the test where there is none.
func newBrowser(t *testing.T, home string) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Skip("no chromium here; install Debian's chromium to test the pages of `fedfast ui` and of reports")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(time.Minute), chromedp.WindowSize(1440, 900))
	alloc, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, end := chromedp.NewContext(alloc)
	t.Cleanup(end)
	b := &browser{t: t, ctx: ctx, home: home}
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{})
		return err
	}))
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	return b
}

// listen collects what is wrong.
func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.home) && e.Request.URL != "about:blank" && !strings.HasPrefix(e.Request.URL,
			"data:image/svg+xml,") {
			b.wrong = append(b.wrong, "asked for "+e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, "threw "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.wrong = append(b.wrong, fmt.Sprintf("wrote %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !b.down {
			b.wrong = append(b.wrong, "logged "+e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// click clicks on what selectors find, one after the other. A page may draw a node anew
// between finding it and clicking on it: it is looked for again.
func (b *browser) click(selectors ...string) {
	b.t.Helper()
	for _, selector := range selectors {
		var err error
		for range 10 {
			if err = chromedp.Do(b.ctx, chromedp.Click(selector)); err == nil || !strings.Contains(err.Error(), noNode) {
				break
			}
		}
		if err != nil {
			b.t.Fatalf("click on %s: %v", selector, err)
		}
	}
}

// noNode is what the browser says of a node that is no longer there.
const noNode = "Could not find node"

// until waits until an expression of JavaScript is true. A page that is being left for
// another cannot answer, and one that is being built may lack what it is asked for: both
// are asked again.
func (b *browser) until(expression string) {
	b.t.Helper()
	var last error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end) &&
		b.ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		v, err := chromedp.Run(b.ctx, chromedp.Evaluate[any]("Boolean("+expression+")"))
		if err == nil && v == true {
			return
		}
		last = err
	}
	b.t.Fatalf("%s does not come true (%v); the page says %v", expression, last, b.value("document.body.innerText"))
}

// value is the value of an expression of JavaScript.
func (b *browser) value(expression string) any {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// tab presses the tab key until what has the focus matches a selector, and looks whether
// a person sees where that is.
func (b *browser) tab(selector string) {
	b.t.Helper()
	for range 200 {
		if b.value(fmt.Sprintf("document.activeElement.matches(%q)", selector)) == true {
			if b.value(`getComputedStyle(document.activeElement).outlineStyle`) == "none" {
				b.t.Errorf("nothing shows that %s has the focus", selector)
			}
			return
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.t.Fatalf("the tab key does not lead to %s", selector)
}

// clean says what is wrong so far.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		b.t.Errorf("the page %s", w)
	}
	b.wrong = nil
}

// themes are those that pages have, and sizes the widths at which they are looked at.
var (
	themes = []string{"light", "dark"}
	sizes  = []int64{375, 768, 1440}
)

// axeFolder has axe-core, which others wrote.
var axeFolder = filepath.Join("testdata", "axe")

// TestVendoredAxe compares the files that others wrote with their digests.
func TestVendoredAxe(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(axeFolder, "VENDORED.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?m)^\\| `(.+)` \\| `(.+)` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(found) != 3 {
		t.Fatalf("%d files are listed", len(found))
	}
	for _, m := range found {
		content, err := os.ReadFile(filepath.Join(axeFolder, m[1]))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha512.Sum512(content); base64.StdEncoding.EncodeToString(sum[:]) != m[2] {
			t.Errorf("%s is not the file that VENDORED.md lists", m[1])
		}
	}
}

// away says whether the server is away on purpose.
func (b *browser) away(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

// asks lets the browser ask another server from now on.
func (b *browser) asks(home string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.home = home
}

// looks checks the page in both themes and sizes: nothing is wider than the window,
// and axe-core, at each size in another theme, finds nothing. With
// FEDFAST_SHOTS, a folder, pictures are kept there.
func (b *browser) looks(name string) {
	b.t.Helper()
	axe, err := os.ReadFile(filepath.Join(axeFolder, "axe.min.js"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.value(string(axe) + "; 0")
	for i, theme := range themes {
		for j, width := range sizes {
			b.do(chromedp.EmulateViewport(width, 900), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
				_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
				})
				return err
			}))
			b.until(fmt.Sprintf(`matchMedia("(prefers-color-scheme: %s)").matches && innerWidth === %d`, theme, width))
			b.settled()
			if over := b.value("document.documentElement.scrollWidth - innerWidth"); over.(float64) > 0 {
				b.t.Errorf("%s at %d pixels is %v too wide", name, width, over)
			}
			if dir := os.Getenv("FEDFAST_SHOTS"); dir != "" {
				png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s-%d.png", name, theme, width)), png, 0o600)
				}
				if err != nil {
					b.t.Fatal(err)
				}
			}
			if (i+j)%2 > 0 { // it takes its time
				continue
			}
			found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](
				`axe.run({resultTypes: ["violations"]}).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.html + " " + n.failureSummary).join("; ")))`,
				chromedp.EvalAwaitPromise))
			if err != nil {
				b.t.Fatal(err)
			}
			for _, f := range found {
				b.t.Errorf("%s, %s, %d pixels: axe finds %s", name, theme, width, f)
			}
		}
	}
}

// settled waits until the page has been laid out and drawn as it is now.
func (b *browser) settled() {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx,
		chromedp.Evaluate[any](`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`,
			chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
}

// startUI starts `fedfast ui` on a folder and returns the address to open, with the token,
// where it answers, and what stops it.
func startUI(t *testing.T, dir, listen string) (open, home string, stop func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "fedfast", "ui", dir, "--listen", listen)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	open = strings.TrimSpace(line)
	home, _, _ = strings.Cut(open, "?")
	return open, home, func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("ui ends with %v", err)
		}
	}
}
