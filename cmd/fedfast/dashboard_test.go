//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
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

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/store"
)

// browser is a tab of Chromium. What it must not do is collected in wrong: to write
// an error to its console, and to ask any other server.
type browser struct {
	t     *testing.T
	ctx   context.Context
	mu    sync.Mutex
	home  string // the server that it may ask
	wrong []string
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
		t.Skip("no chromium here; install Debian's chromium to test the pages of `fedfast ui`")
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
		if !strings.HasPrefix(e.Request.URL, b.home) && e.Request.URL != "about:blank" {
			b.wrong = append(b.wrong, "asked for "+e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, "threw "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.wrong = append(b.wrong, fmt.Sprintf("wrote %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
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

// until waits until an expression of JavaScript is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if b.value("Boolean("+expression+")") == true {
			return
		}
	}
	b.t.Fatalf("%s does not come true; the page says %v", expression, b.value("document.body.innerText"))
}

// value is that of an expression of JavaScript.
func (b *browser) value(expression string) any {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
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
	sizes  = []int64{375, 1440}
)

// looks checks the page in both themes and sizes: nothing is wider than the window,
// and axe-core, where FEDFAST_AXE names its file, finds nothing serious. With
// FEDFAST_SHOTS, a folder, pictures are kept there.
func (b *browser) looks(name string) {
	b.t.Helper()
	axe, _ := os.ReadFile(os.Getenv("FEDFAST_AXE")) // empty where it is not named
	for _, theme := range themes {
		for _, width := range sizes {
			b.do(chromedp.EmulateViewport(width, 900), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
				_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
				})
				return err
			}), chromedp.Sleep(300*time.Millisecond))
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
			if len(axe) == 0 {
				continue
			}
			b.value(string(axe) + "; 0")
			found, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](
				`axe.run().then((r) => r.violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => v.id + ": " + v.nodes.map((n) => n.html + " " + n.failureSummary).join("; ")))`,
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

// startUI starts `fedfast ui` on a folder and returns where it answers, and what
// stops it.
func startUI(t *testing.T, dir, listen string) (url string, stop func()) {
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
	return strings.TrimSpace(line), func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("ui ends with %v", err)
		}
	}
}

// TestDashboardOfManyRounds shows a study of 200 trials: 400 rounds each, or 4,000
// with FEDFAST_LONG. It logs how long the first paint and updates take.
func TestDashboardOfManyRounds(t *testing.T) {
	if testing.Short() {
		t.Skip("a large study")
	}
	length := 400
	if os.Getenv("FEDFAST_LONG") != "" {
		length = 4000
	}
	dir := t.TempDir()
	home, stop := startUI(t, dir, "127.0.0.1:0")
	defer stop()
	b := newBrowser(t, home)
	st, round := largeStudy(t, filepath.Join(dir, "large"), 200, length)
	defer func() { _ = st.Close() }()
	b.do(chromedp.Navigate(home + "study?dir=large"))
	b.until(`window.fedfast && fedfast.page.drawn`)
	t.Logf("%d rounds: painted after %.0f ms, curves after %.0f ms", 200*(length-20), b.value("fedfast.page.painted"), b.value("fedfast.page.drawn"))
	for step := range 20 {
		for trial := range 200 {
			round(trial, length-20+step+1)
		}
		if err := st.Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.until(fmt.Sprintf(`fedfast.page.study.rounds === %d && fedfast.page.waiting.length === 0`, 200*length))
	t.Logf("%v updates, the slowest took %.0f ms, the last %.0f ms", b.value("fedfast.times.updates"), b.value("fedfast.times.slowest"), b.value("fedfast.times.last"))
	if most := b.value("Math.max(...fedfast.curves.data.map((c) => c.length))").(float64); most > 2000 {
		t.Errorf("a curve has %v points", most)
	}
	b.clean()
	b.looks("large")
}

// largeStudy records a study at work: trials of so many rounds, all but the last 20.
// It returns what records one more.
func largeStudy(t *testing.T, dir string, trials, length int) (*store.Store, func(trial, round int)) {
	t.Helper()
	c, err := config.Load(config.Source{Preset: "quickstart", Sets: []string{
		fmt.Sprintf("budget.rounds=%d", trials*length), fmt.Sprintf("budget.trial_rounds=%d", length), "tuner.name=random", "client_tuner.name=none",
	}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := config.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	add := func(kind string, trial, round int, form string, values ...any) {
		if err := st.Append(kind, trial, round, fmt.Appendf(nil, form, values...)); err != nil {
			t.Fatal(err)
		}
	}
	add(study.KindStudy, -1, 0, `{"name":"large","mode":"tune","config":%q,"trial_rounds":%d}`, text, length)
	add(study.KindSession, -1, 0, `{"version":"test","cpu":"none","level":"avx2","workers":2}`)
	for trial := range trials {
		add(study.KindSuggest, -1, 0, `{"n":1,"decisions":[{"kind":"start","trial":%d,"params":{"client.lr":0.1},"to_round":%d}]}`, trial, length)
		add(study.KindTrial, trial, 0, `{"params":{"client.lr":%v}}`, math.Pow(10, -float64(trial)/80))
	}
	measured := func(trial, round int) {
		score := 0.1 + float64(trial%7)/20 + 0.8*math.Exp(-float64(round)/float64(length/8)) + 0.02*math.Sin(float64(round*trial))
		add(study.KindRound, trial, round, `{"score":%v,"train_loss":%v,"steps":100,"examples":2000,"dropped":0,"clients":[1,2,3,4,5,6,7,8,9,10]}`, score, 3*score)
	}
	for round := 1; round <= length-20; round++ {
		for trial := range trials {
			measured(trial, round)
		}
	}
	if err := st.Flush(); err != nil {
		t.Fatal(err)
	}
	return st, measured
}
