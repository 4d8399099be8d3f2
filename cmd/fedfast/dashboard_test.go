//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/store"
)

// rounds is how many rounds the curves of a page show.
const rounds = `fedfast.curves.sets.score.slice(1).flat().filter((y) => y !== null).length`

// working starts the program on a study of a folder.
func working(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, said *heard) {
	t.Helper()
	cmd, said = exec.CommandContext(t.Context(), "fedfast", args...), &heard{}
	cmd.Dir, cmd.Stderr = dir, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, said
}

// heard is what a process wrote so far.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps what is written.
func (l *heard) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns what was written.
func (l *heard) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// kill ends a process at once.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

// slowStudy is a study that goes on for longer than a person looks at it.
func slowStudy(name string, more ...string) []string {
	return append([]string{
		"tune", "--preset", "fashion-fedex", "--set", "model=logistic", "--set", "data.clients=60", "--set",
		"score.discount=0.5",
		"--set", "budget.rounds=270000", "--set", "budget.trial_rounds=25000", "--set", "finalists.clients=20", "--study",
		name, "--workers", "1",
	}, more...)
}

// TestDashboardFollowsAStudy opens a study's page before its process is killed, and
// keeps it open: its curves grow, it says that the study stopped, goes on with what
// resumes it, and comes back when the server does; in the end the curves are those
// that a new page draws.
func TestDashboardFollowsAStudy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open, home, stop := startUI(t, dir, "127.0.0.1:0")
	b := newBrowser(t, home)
	b.do(chromedp.Navigate(open))
	b.until(`document.getElementById("caption").textContent === "No studies yet."`)
	tune, _ := working(t, dir, slowStudy("first")...)
	b.until(`document.querySelector("tbody .running")`)
	b.click("tbody a")
	b.until(`window.fedfast && fedfast.curves.sets && ` + rounds + ` > 40`)
	seen := b.value(rounds).(float64)
	b.until(fmt.Sprintf("%s > %v && fedfast.times.updates > 0", rounds, seen))
	kill(t, tune)
	b.until(`document.getElementById("state").textContent === "interrupted" && !document.querySelector("#trials .running")`)
	b.looks("interrupted")
	b.clean()

	b.away(true)
	stop()
	b.until(`document.getElementById("note").textContent.startsWith("Lost connection to fedfast")`)
	resumed, _ := working(t, dir, "study", "resume", "first")
	open, _, stop = startUI(t, dir, strings.TrimSuffix(strings.TrimPrefix(home, "http://"), "/"))
	defer stop()
	b.value(fmt.Sprintf(`fetch(%q)`, open)) // as another tab does, for the cookie
	told := b.value(`fedfast.page.study.rounds`).(float64)
	b.until(`document.getElementById("note").textContent === ""`)
	b.until(fmt.Sprintf(`document.getElementById("state").textContent === "running" && fedfast.page.study.rounds > %v`,
		told+20))
	kill(t, resumed)
	// The page may be told of the end before it has asked for the last rounds: those are
	// told with a mark of process 0.
	b.until(`fedfast.page.behind === 0 && document.getElementById("state").textContent === "interrupted" &&
		fedfast.page.at.mark.startsWith("0 ")`)
	b.away(false)
	const drawn = `JSON.stringify(fedfast.curves.sets.score.map((c) => c.map((y) => y === null ? y : +y.toPrecision(4))))`
	grown := b.value(drawn)
	b.do(chromedp.Reload())
	b.until(`window.fedfast && fedfast.curves.sets && ` + rounds + ` > 40`)
	b.until(fmt.Sprintf("%s === %q", drawn, grown))
	b.click(`input[value="loss"]`)
	b.until(`fedfast.curves.metric === "loss" && document.querySelectorAll("#trials tr").length >= 1`)
	b.click("nav a")
	b.until(`document.querySelector("tbody .interrupted")`)
	b.looks("list")
	b.clean()
}

// address waits for the page that a process offers.
func address(t *testing.T, said *heard) string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if m := regexp.MustCompile(`http://\S+token=\S+`).FindString(said.String()); m != "" {
			return m
		}
	}
	t.Fatalf("no page is offered: %s", said)
	return ""
}

// shownTrial is a trial as `study show --json` tells it.
type shownTrial struct {
	Number, Rounds int
	State          string
	Reason         *string
}

// shown is what `study show --json` tells of a study.
func shownStudy(t *testing.T, dir, name string) (state string, trials []shownTrial) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "fedfast", "study", "show", "--json", name)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		State  string
		Trials []shownTrial
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	return all.State, all.Trials
}

// TestPersonStopsTrialsAndTheStudy presses the buttons of `tune --ui`, with a mouse or
// with keys: a trial ends after its round, also when the process is killed then and the
// study resumed, and the study ends with what it has.
func TestPersonStopsTrialsAndTheStudy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tune, said := working(t, dir, slowStudy("first", "--ui")...)
	home := address(t, said)
	origin, _, _ := strings.Cut(home, "/study")
	b := newBrowser(t, origin)
	b.do(chromedp.Navigate(home))
	b.until(`window.fedfast && fedfast.page.drawn && !location.href.includes("token") && document.querySelector("#trials [aria-label^=Stop]")`)
	b.looks("buttons")
	number := int(b.value(`+document.querySelector("#trials .running").parentNode.children[0].textContent`).(float64))
	button := fmt.Sprintf(`button[aria-label="Stop trial %d"]`, number)
	b.click(button)
	b.until(`document.getElementById("ask").open`)
	b.looks("ask")
	b.click("#ask-no")
	b.until(`!document.getElementById("ask").open`)
	b.click(button)
	b.click("#ask-yes")
	b.until(fmt.Sprintf(`fedfast.page.study.all[%d].state === "pruned" && fedfast.page.rows.get(%d).textContent.includes("stopped by a user")`, number, number))
	b.clean()
	b.away(true)
	kill(t, tune)
	_, before := shownStudy(t, dir, "first")

	resume, said := working(t, dir, "study", "resume", "first", "--ui")
	home = address(t, said)
	origin, _, _ = strings.Cut(home, "/study")
	b.do(chromedp.Navigate("about:blank")) // or the former page asks its own server meanwhile
	b.asks(origin)
	b.do(chromedp.Navigate(home))
	b.away(false)
	b.until(`window.fedfast && fedfast.page.drawn && document.querySelector("#trials [aria-label^=Stop]")`)
	b.tab("#trials [aria-label^=Stop]") // the table grows meanwhile
	seen := int(b.value(`fedfast.times.updates`).(float64))
	b.until(fmt.Sprintf(`fedfast.times.updates >= %d`, seen+3))
	if b.value(`document.activeElement.matches("#trials [aria-label^=Stop]")`) != true {
		t.Errorf("the button of a trial loses the focus to %v", b.value("document.activeElement.outerHTML"))
	}
	b.tab("#stop-study")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.getElementById("ask").open`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.getElementById("ask").open && document.activeElement.id === "stop-study"`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.tab("#ask-yes")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`document.getElementById("stop-note").textContent.startsWith("The study stops")`)
	b.clean()
	if err := resume.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	state, after := shownStudy(t, dir, "first")
	if state != "completed" {
		t.Errorf("the study is %s", state)
	}
	ended := 0
	for i, trial := range after {
		switch {
		case trial.Reason == nil:
		case trial.Number != number && *trial.Reason == "the study was stopped by a user":
			ended++
		case trial.Number != number || *trial.Reason != "stopped by a user" || trial.State != "pruned" ||
			trial.Rounds != before[i].Rounds:
			t.Errorf("trial %d is %+v", trial.Number, trial)
		}
	}
	if ended == 0 || after[number].Reason == nil {
		t.Errorf("the trials are %+v", after)
	}
	again := exec.CommandContext(t.Context(), "fedfast", "study", "resume", "first")
	again.Dir = dir
	if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out),
		"by the user, before the tuner finished") {
		t.Errorf("told again: %v: %s", err, out)
	}
}

// smallStudies makes a study and runs with two seeds in a folder.
func smallStudies(t *testing.T, dir string) {
	t.Helper()
	sets := []string{
		"--preset", "fashion-fedex", "--set", "model=logistic", "--set", "data.clients=30", "--set", "eval.every=1",
		"--set", "method=reptile", "--set", "data.name=glyphs", "--set", "data.normalize=none",
	}
	for _, args := range [][]string{
		append([]string{
			"tune", "--study", "first", "--set", "budget.rounds=60", "--set", "budget.trial_rounds=9", "--set",
			"finalists.clients=20",
			"--set", "fleet.devices=phones",
		}, slices.Concat(sets, twoTuners)...),
		append([]string{"run", "--study", "seeds", "--seeds", "2", "--set", "rounds=6"}, sets...),
		{"report", "first"},
		{"report", "first", "seeds", "--out", "all.html"},
	} {
		cmd := exec.CommandContext(t.Context(), "fedfast", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
}

// TestPagesOfFinishedStudies uses the pages as a person does who looks for the best
// trial, for the worst clients and for which of two studies is better.
func TestPagesOfFinishedStudies(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	t.Parallel()
	dir := t.TempDir()
	smallStudies(t, dir)
	t.Run("reports", func(t *testing.T) { reportsInABrowser(t, dir) })
	open, home, stop := startUI(t, dir, "127.0.0.1:0")
	defer stop()
	b := newBrowser(t, home)

	b.do(chromedp.Navigate(open))
	b.until(`document.querySelectorAll("#rows tr").length === 2 && document.getElementById("rows").textContent.includes("2 seeds")`)
	if b.value(`document.querySelector("#rows th").textContent.includes("seeds")`) != true {
		t.Error("the newest study is not the first")
	}
	b.looks("list")
	b.click(`#rows [aria-expanded]`)
	b.until(`document.querySelectorAll("#rows tr").length === 4`)
	b.value(`by("filter").value = "sha"; by("filter").dispatchEvent(new Event("input"))`)
	b.until(`document.querySelectorAll("#rows tr").length === 1 && by("caption").textContent.includes("1 shown")`)
	b.value(`by("filter").value = ""; by("filter").dispatchEvent(new Event("input"))`)
	b.click(`[aria-label="Compare seeds"]`, `[aria-label="Compare first"]`)
	b.until(`by("compare").textContent === "Compare 3 studies"`)
	b.click("#compare")
	b.until(`document.querySelectorAll("#shown table").length > 0 && 
		[...document.querySelectorAll("#shown figure")].every((f) => f.drawing.getBBox().width > 100)`)
	if text := b.value(`document.body.innerText`).(string); !strings.Contains(text, "over seeds") ||
		!strings.Contains(text, "Personalized test error: first ") || !strings.Contains(text, "fleet.devices") {
		t.Errorf("the comparison says %s", text)
	}
	b.looks("compare")
	b.clean()

	b.do(chromedp.Navigate(home + "study?dir=seeds/seed-0"))
	b.until(`window.fedfast && fedfast.page.drawn && by("answer").textContent.includes("Warning: ") && by("metrics").textContent.includes("test error (global model)")`)
	b.do(chromedp.Navigate(home + "study?dir=first"))
	b.until(`window.fedfast && fedfast.page.drawn && by("answer").textContent.startsWith("Personalized test error")`)
	b.looks("finished")
	b.click(`#trial-head th:nth-child(4) button`)
	b.until(`[...document.querySelectorAll("#trials tr td:nth-child(4)")].map(value).every((x, i, all) => i === 0 || typeof x !== "number" || all[i - 1] <= x)`)
	b.value(`by("trial-filter").value = "lr < 0.01"; by("trial-filter").dispatchEvent(new Event("input"))`)
	b.until(`fedfast.page.study.all.every((t) => fedfast.page.rows.get(t.number).hidden === t.params["client.lr"] >= 0.01)`)
	b.value(`by("trial-filter").value = ""; by("trial-filter").dispatchEvent(new Event("input"))`)
	// The pointer is where the best trial has its last point.
	b.value(`(() => {
		const u = fedfast.curves.plot, i = fedfast.page.study.best.trial + 1, at = u.data[i].findLastIndex((y) => y !== null);
		u.setCursor({left: u.valToPos(u.data[0][at], "x"), top: u.valToPos(u.data[i][at], "y")});
		u.setSeries(i, {focus: true});
	})()`)
	b.until(`!by("card").hidden && by("card").textContent.includes("(best)") && by("card").textContent.includes("client.lr")`)
	b.until(`by("trial-count").textContent === page.study.trials + " of " + page.study.trials + " trials" &&
		page.study.all.length === page.study.trials + 1`)
	b.value(`window.saved = {}; for (const a of document.querySelectorAll("#curve-files a"))
		fetch(a.href).then(async (r) => (saved[a.textContent] = await r.text()))`)
	b.until(`saved.SVG?.startsWith("<svg") && saved.PNG?.slice(1, 4) === "PNG" &&
		saved.PDF?.startsWith("%PDF") && saved.CSV?.split("\n").length > 5`)
	for _, axis := range []string{"seconds", "clock", "updates"} {
		b.value(fmt.Sprintf(`by("axis").value = %q; by("axis").dispatchEvent(new Event("change"))`, axis))
		b.until(fmt.Sprintf(`fedfast.curves.by === %q && fedfast.curves.data.slice(1).flat().some((y) => y !== null)`, axis))
	}
	b.click(`#trials button`)
	b.until(`by("drawer").open && by("drawer-config").textContent.includes("[client]") && document.querySelectorAll("#drawer-part figure").length >= 2 && view.get("trial")`)
	b.looks("drawer")
	b.click("#drawer-close")
	for tab, want := range map[string]string{
		"params": "finalists", "clients": "Gini", "fleet": "vanished", "tuner": "",
		"timeline": "Sessions", "config": "[client_tuner]",
	} {
		b.click("#tab-" + tab)
		b.until(fmt.Sprintf(`!by("other").hidden && !by("part").textContent.startsWith("Reading") && by("other").textContent.includes(%q)`, want))
		b.looks("tab-" + tab)
	}
	// The address shows the same again: a tab, and what is chosen.
	b.click("#tab-params")
	b.until(`location.search.includes("tab=params") && location.search.includes("by=updates")`)
	b.do(chromedp.Reload())
	b.until(`window.fedfast && fedfast.page.tab === "params" && fedfast.curves.by === "updates" &&
		document.querySelector("#part figure")?.drawing`)
	// Keys, or the pointer, go through a picture's points and open a trial.
	const figureOf = `[...document.querySelectorAll("#part figure")].find((f) => f.drawing.id === "figure-%s")`
	b.value(fmt.Sprintf(figureOf, "parallel") + ".focus()")
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.until(`/^trial \d/.test(document.querySelector(".tip:not([hidden])")?.textContent)`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`by("drawer").open && view.get("trial") && by("drawer-title").textContent.startsWith("Trial ")`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`!by("drawer").open && !location.search.includes("trial=")`)
	b.click("#tab-clients")
	b.until(fmt.Sprintf(figureOf, "sizes"))
	b.value(`(() => {
		const svg = ` + fmt.Sprintf(figureOf, "sizes") + `.drawing;
		svg.scrollIntoView();
		const box = svg.querySelector("[data-name^=client]").getBoundingClientRect();
		const at = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, movementX: 1};
		svg.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, composed: true, ...at}));
	})()`)
	b.until(`/^client \S+\ntest samples of the client: \d+\ntest error, %: [0-9.]+$/.test(
		document.querySelector(".tip:not([hidden])")?.textContent)`)
	b.clean()
}

// reportsInABrowser opens the reports of small studies: that of one begins with its
// errors and is not long.
func reportsInABrowser(t *testing.T, dir string) {
	t.Helper()
	b := newBrowser(t, "file://"+dir+"/")
	for _, name := range []string{filepath.Join("first", "report.html"), "all.html"} {
		b.do(chromedp.EmulateViewport(1440, 900), chromedp.Navigate("file://"+filepath.Join(dir, name)))
		b.until(`document.readyState === "complete" && document.querySelectorAll("svg").length > 3`)
		if high := b.value(`document.documentElement.scrollHeight`).(float64); high > 4400 {
			t.Errorf("%s is %v pixels high", name, high)
		}
		b.value(`document.querySelector("figure").focus()`)
		b.do(chromedp.KeyEvent(kb.ArrowRight))
		b.until(`document.querySelector(".tip:not([hidden])")?.textContent.includes("\n")`)
		b.looks("report")
		b.clean()
	}
}

// TestDashboardOfManyRounds shows a study of 200 trials: 400 rounds each, or 4,000
// with FEDFAST_LONG. It logs how long the first paint and updates take.
func TestDashboardOfManyRounds(t *testing.T) {
	if testing.Short() {
		t.Skip("a large study")
	}
	t.Parallel()
	length := 400
	if os.Getenv("FEDFAST_LONG") != "" {
		length = 4000
	}
	dir := t.TempDir()
	open, home, stop := startUI(t, dir, "127.0.0.1:0")
	defer stop()
	b := newBrowser(t, home)
	b.do(chromedp.Navigate(open))
	st, round := largeStudy(t, filepath.Join(dir, "large"), 200, length)
	defer func() { _ = st.Close() }()
	b.do(chromedp.Navigate(home + "study?dir=large"))
	b.until(`window.fedfast && fedfast.page.drawn`)
	t.Logf("%d rounds: painted after %.0f ms, curves drawn after %.0f ms", 200*(length-20),
		b.value("fedfast.page.painted"), b.value("fedfast.page.drawn"))
	for step := range 20 {
		for trial := range 200 {
			round(trial, length-20+step+1)
		}
		if err := st.Flush(); err != nil {
			t.Fatal(err)
		}
		b.until(fmt.Sprintf(`fedfast.page.study.rounds >= %d`, 200*(length-20+step+1)))
	}
	b.until(fmt.Sprintf(`fedfast.page.study.rounds === %d && fedfast.page.waiting.length === 0`, 200*length))
	t.Logf("%v updates, the slowest took %.0f ms, the last %.0f ms", b.value("fedfast.times.updates"),
		b.value("fedfast.times.slowest"), b.value("fedfast.times.last"))
	if most := b.value("Math.max(...fedfast.curves.data.map((c) => c.length))").(float64); most > 2000 {
		t.Errorf("a curve has %v points", most)
	}
	b.clean()
	b.looks("large")
}

// largeStudy records a running study: trials of length rounds each, of which the last 20
// are missing. It returns a function that records another round of a trial.
func largeStudy(t *testing.T, dir string, trials, length int) (*store.Store, func(trial, round int)) {
	t.Helper()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Sets: []string{
		fmt.Sprintf("budget.rounds=%d", trials*length), fmt.Sprintf("budget.trial_rounds=%d", length), "tuner.name=random",
		"client_tuner.name=none", "eval.every=0",
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
	add(store.KindStudy, -1, 0, `{"name":"large","mode":"tune","config":%q,"trial_rounds":%d}`, text, length)
	add(store.KindSession, -1, 0, `{"version":"test","cpu":"none","level":"avx2","workers":2}`)
	for trial := range trials {
		add(store.KindSuggest, -1, 0,
			`{"n":1,"decisions":[{"kind":"start","trial":%d,"params":{"client.lr":0.1},"to_round":%d}]}`, trial, length)
		add(store.KindTrial, trial, 0, `{"params":{"client.lr":%v}}`, math.Pow(10, -float64(trial)/80))
	}
	measured := func(trial, round int) {
		score := 0.1 + float64(trial%7)/20 + 0.8*math.Exp(-float64(round)/float64(length/8)) + 0.02*math.Sin(float64(round*trial))
		add(store.KindRound, trial, round,
			`{"score":%v,"train_loss":%v,"steps":100,"examples":2000,"dropped":0,"clients":[1,2,3,4,5,6,7,8,9,10]}`, score,
			3*score)
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
