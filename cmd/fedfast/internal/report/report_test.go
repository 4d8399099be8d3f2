package report_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/plugins"
)

// small is a study of a few seconds at most.
func small(t *testing.T, sets ...string) *config.Config {
	t.Helper()
	c, err := config.Load(config.Source{Preset: "fashion-fedex", Sets: append([]string{
		"model=logistic", "data.name=glyphs", "data.normalize=none",
		"data.clients=8", "data.samples=30", "cohort=3", "eval.every=2",
		"budget.rounds=12", "budget.trial_rounds=6", "tuner.options.eliminations=1",
	}, sets...)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tune runs a study to its end, or stops it after a number of events.
func tune(t *testing.T, dir string, c *config.Config, stopAfter int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o := &observer{stop: stop, after: stopAfter}
	_, err := workdir.Tune(ctx, dir, c, workdir.Options{Launcher: workdir.InProcess(plugins.Builtin()), Observer: o})
	if err != nil && (stopAfter == 0 || !errors.Is(err, context.Canceled)) {
		t.Fatal(err)
	}
}

type observer struct {
	stop          func()
	events, after int
}

func (o *observer) Event(study.Event) {
	if o.events++; o.events == o.after {
		o.stop()
	}
}
func (*observer) Progress(study.Progress)   {}
func (*observer) Evaluated(study.Evaluated) {}

// write returns the page of studies, and fails where it differs when written again.
func write(t *testing.T, dirs ...string) string {
	t.Helper()
	var pages [2]bytes.Buffer
	for i := range pages {
		var studies []*report.Study
		for _, dir := range dirs {
			s, err := report.Read(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			studies = append(studies, s)
		}
		if err := report.Write(&pages[i], studies); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(pages[0].Bytes(), pages[1].Bytes()) {
		t.Error("the same studies give another page")
	}
	return pages[0].String()
}

// found is what a page is made of.
type found struct {
	headings, ids, links []string
	count                map[string]int
	text                 string
}

var foreign = regexp.MustCompile(`(?i)(src|href|action|xlink:href)\s*=|url\(|@import`)

// read parses a page and checks what holds for every page.
func read(t *testing.T, page string) *found {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	f := &found{count: map[string]int{}}
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			f.text += n.Data + " "
		}
		if n.Type == html.ElementNode {
			f.count[n.Data]++
			f.element(t, n)
		}
	}
	for _, link := range f.links {
		if !strings.HasPrefix(link, "#") || !slices.Contains(f.ids, link[1:]) {
			t.Errorf("a link leads to %q", link)
		}
	}
	slices.Sort(f.ids)
	if twice := len(f.ids) - len(slices.Compact(slices.Clone(f.ids))); twice > 0 {
		t.Errorf("%d ids stand twice", twice)
	}
	if f.count["h1"] != 1 || f.count["main"] != 1 || f.count["script"] != 1 || f.count["link"] != 0 ||
		f.count["img"] != 0 {
		t.Errorf("elements %v", f.count)
	}
	script := regexp.MustCompile(`(?s)<script>(.*)</script>`).FindStringSubmatch(page)
	policy := regexp.MustCompile(`script-src 'sha256-([^']+)';`).FindStringSubmatch(page)
	if script == nil || policy == nil {
		t.Fatal("the page has no script, or no policy for it")
	}
	sum := sha256.Sum256([]byte(script[1]))
	if base64.StdEncoding.EncodeToString(sum[:]) != html.UnescapeString(policy[1]) {
		t.Errorf("the policy %s is not of the script", policy[1])
	}
	if at := strings.Index(strings.ReplaceAll(page, "http://www.w3.org/2000/svg", ""), "http"); at >= 0 &&
		!strings.HasPrefix(page[at:], "http-equiv") && strings.Contains(page, "://") {
		for _, url := range regexp.MustCompile(`[a-z]+://[^"'<> ]*`).FindAllString(page, -1) {
			if !strings.HasPrefix(url, "http://www.w3.org/") {
				t.Errorf("it names %s", url)
			}
		}
	}
	for _, bad := range []string{"NaN", "+Inf", "ZgotmplZ", "<nil>"} {
		if strings.Contains(page, bad) {
			t.Errorf("it shows %s", bad)
		}
	}
	return f
}

// element takes in one element.
func (f *found) element(t *testing.T, n *html.Node) {
	t.Helper()
	for _, a := range n.Attr {
		switch a.Key {
		case "id":
			f.ids = append(f.ids, a.Val)
		case "href":
			f.links = append(f.links, a.Val)
		case "src", "srcset", "action", "xlink:href":
			t.Errorf("%s has %s %q", n.Data, a.Key, a.Val)
		}
		if strings.HasPrefix(a.Key, "on") {
			t.Errorf("%s runs %s", n.Data, a.Key)
		}
	}
	switch n.Data {
	case "h2", "h3":
		f.headings = append(f.headings, text(n))
	case "svg":
		if title := n.FirstChild; title == nil || !strings.Contains(attr(n, "aria-labelledby"), "-title") ||
			attr(n, "role") != "img" {
			t.Error("a picture has no name")
		}
	case "table":
		if caption := n.FirstChild; caption == nil || caption.Data != "caption" || text(caption) == "" {
			t.Error("a table has no caption")
		}
	case "style":
		if foreign.MatchString(text(n)) {
			t.Error("a style asks for something else")
		}
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	var s strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			s.WriteString(c.Data)
		}
	}
	return s.String()
}

// holds fails for each part that a page does not tell.
func (f *found) holds(t *testing.T, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(f.text, part) {
			t.Errorf("the page does not say %q", part)
		}
	}
}

func TestReportOfOneStudy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	tune(t, dir, small(t, "client_tuner.options.configs=3"), 7)
	f := read(t, write(t, dir))
	f.holds(t, "Interrupted after ", "fedfast study resume "+dir)
	tune(t, dir, small(t, "client_tuner.options.configs=3"), 0)
	f = read(t, write(t, dir))
	f.holds(t, "Personalized test error ", "Winner of ", " trials: trial ", "finalists scored on all ",
		"Hyperparameters: ", "Started from: ", "SHA + FedEx", "personalized test",
		"Hyperparameter importance needs at least 15 trials",
		"FedEx: probability of each client configuration (trial ", "Client tuner: entropy", "over the rounds spent",
		"Test error over clients", "Gini", "Test error by client size",
		"Personalization lowered the error of ", "rung", "fedex.gamma")
	if answer, table := strings.Index(f.text, "Personalized test error "),
		strings.Index(f.text, "Errors of the returned model"); answer > table {
		t.Error("the page does not begin with the answer")
	}
	if strings.Contains(f.text, "Which worker") {
		t.Error("a study without a cluster has workers")
	}
	want := []string{"Result", "Clients", "Hyperparameters", "Client tuner", "Trials", "Details"}
	if !slices.Equal(f.headings, want) {
		t.Errorf("headings %q", f.headings)
	}
	if n := f.count["svg"]; n < 9 || n > f.count["details"] {
		t.Errorf("%d pictures, %d with numbers behind", n, f.count["details"])
	}
}

// TestReportOfSeveral lays out two seeds of one study and another one.
func TestReportOfSeveral(t *testing.T) {
	var dirs []string
	for i, sets := range [][]string{{"seed=1"}, {"seed=2"}, {"seed=1", "client_tuner.name=fathom"}} {
		dirs = append(dirs, filepath.Join(t.TempDir(), fmt.Sprint("study", i)))
		tune(t, dirs[i], small(t, sets...), 0)
	}
	f := read(t, write(t, dirs...))
	f.holds(t, "Comparison", "Studies (± 90 % confidence interval over seeds)", "2 seeds", "Personalized test error: ",
		"; with one seed in common, the difference may be chance",
		"fathom", "global test error", "Thick line: mean over seeds", dirs[0]+" (2 seeds)", "cosine of the clients",
		"client.lr set by the client tuner")
	if strings.Contains(read(t, write(t, dirs[0], dirs[2])).text, "Thick line") {
		t.Error("bands are explained where no study has several seeds")
	}
}

// TestReportOfOtherMeasures: scores that are measured in another way have an axis of
// their own.
func TestReportOfOtherMeasures(t *testing.T) {
	var dirs []string
	for i, sets := range [][]string{{}, {
		"objective=loss", "name=by-loss", "client.epochs=2", "client.momentum=0.5",
		"server.lr=0.7", "client.weight_decay=0.001",
	}} {
		dirs = append(dirs, filepath.Join(t.TempDir(), fmt.Sprint("study", i)))
		tune(t, dirs[i], small(t, sets...), 0)
	}
	f := read(t, write(t, dirs...))
	f.holds(t, "Differences of the configurations", "validation error (personalized), %", "validation loss (personalized)",
		"test error, %")
}

// TestReportOfAFleet shows what clients did in simulated time, only where there was any.
func TestReportOfAFleet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	c := small(t, "rounds=40", "fleet.devices=phones", "fleet.dropout=0.2", "time.mode=buffered", "time.concurrency=4",
		"time.buffer=2")
	if _, err := workdir.Run(t.Context(), dir, c, workdir.Options{}); err != nil {
		t.Fatal(err)
	}
	f := read(t, write(t, dir))
	f.holds(t, "Fleet", "Test error of the global model over simulated time", "Clients of trial 0 at work",
		"waiting for the step",
		"Clients at work over simulated time", "work that is lost", "Updates by staleness", "clients that contributed",
		"vanished", "slowest fifth")
	if _, err := workdir.Run(t.Context(), dir+"2", small(t, "rounds=3"), workdir.Options{}); err != nil {
		t.Fatal(err)
	}
	if f := read(t, write(t, dir+"2")); slices.Contains(f.headings, "Fleet") ||
		strings.Contains(f.text, "simulated time") {
		t.Errorf("a study without a fleet has headings %q", f.headings)
	}
}

func TestReportOfARun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	if _, err := workdir.Run(t.Context(), dir, small(t, "rounds=6"), workdir.Options{}); err != nil {
		t.Fatal(err)
	}
	read(t, write(t, dir)).holds(t, "Global test error ", "fedfast run", "Training loss",
		"Test error of the global model over rounds")
}

// TestFirstCurveIsOfTheAnswer holds that the curve that is shown first is of the models of which
// the answer tells first, and names them.
func TestFirstCurveIsOfTheAnswer(t *testing.T) {
	for _, c := range []struct {
		mode   string
		sets   []string
		answer string
		title  string
		label  string
	}{
		{
			config.ModeTune,
			[]string{"target=personalized"},
			"Personalized test error ",
			"Validation error of the trials, with rungs", "(personalized)",
		},
		{
			config.ModeTune,
			[]string{"target=global"},
			"Global test error ", "Test error of the global model over rounds",
			"of the global model",
		},
		{
			config.ModeRun,
			[]string{"method=fedavg"},
			"Global test error ", "Test error of the global model over rounds",
			"of the global model",
		},
		{
			config.ModeRun,
			[]string{"method=ditto", "client.lambda=0.5"},
			"Personalized test error ",
			"Test error of personalized models over rounds", "of personalized models",
		},
		{
			config.ModeRun,
			[]string{"method=ditto", "client.lambda=0.5", "eval.every_target=global"},
			"Personalized test error ", "Test error of the global model over rounds", "of the global model",
		},
	} {
		dir := filepath.Join(t.TempDir(), "study")
		study := small(t, append([]string{"rounds=80", "server.momentum=0", "client.momentum=0"}, c.sets...)...)
		if c.label == "of personalized models" {
			study.Eval.Every = config.AutoEvery
		}
		if c.mode == config.ModeRun {
			if _, err := workdir.Run(t.Context(), dir, study, workdir.Options{}); err != nil {
				t.Fatal(err)
			}
		} else {
			tune(t, dir, study, 0)
		}
		s, err := report.Read(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		figures := s.Figures("result")
		if got := figures[0]; got.Title != c.title || !strings.HasPrefix(s.Answer()[0], c.answer) ||
			!strings.Contains(got.Panels[0].Y.Label, c.label) {
			t.Errorf("%s %v: %q of %q behind %q", c.mode, c.sets, got.Title, got.Panels[0].Y.Label, s.Answer()[0])
		}
	}
}
