package dashboard

import (
	"cmp"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// Entry is a study in a list, and the head of its own page.
type Entry struct {
	Dir     string     `json:"dir"` // below the root, with slashes
	Name    string     `json:"name"`
	Command string     `json:"command"`
	State   view.State `json:"state"`
	PID     int        `json:"pid,omitempty"`
	Trials  int        `json:"trials"`
	Rounds  int        `json:"rounds"`
	Budget  int        `json:"budget"`
	Best    *best      `json:"best"`
	Scale   scale      `json:"scale"` // of scores
	// Stage says what a study with a returned model still does, empty for nothing.
	Stage string `json:"stage,omitempty"`
	// Left is the estimated time to the end in seconds, of a running study.
	Left    *float64   `json:"left"`
	Worked  float64    `json:"worked"` // seconds
	Cores   float64    `json:"cores"`  // seconds of all concurrent client tasks
	Started *time.Time `json:"started"`
	Problem string     `json:"problem,omitempty"`
	// About says what was trained.
	About string `json:"about"`
	// Tests are the numbers of the returned model on test samples by view.Targets, of which Judged is the target by
	// which the study is told and ranked; Told names them, such as "error". Share says that errors are shares.
	Tests  map[string]tested `json:"tests"`
	Judged string            `json:"judged"`
	Told   string            `json:"told"`
	Share  bool              `json:"share"`
	// Measure names the errors: "error" or "RMSE".
	Measure string `json:"measure"`
	// Verdict is what is wrong with the returned model, or with how many of Seeds, which the
	// entry stands for.
	Verdict []string `json:"verdict,omitempty"`
	Seeds   []Entry  `json:"seeds,omitempty"`
	// Traffic is what clients and the server of a run sent one another, empty where that was not counted.
	Traffic string `json:"traffic,omitempty"`
	// Notes are what people wrote beside it, of Seeds with their tags; About has them, too.
	Notes   view.Notes `json:"notes,omitzero"`
	told    result.Scale
	trained string // About without Notes
}

// tested is a number of a model under a target, or the mean over seeds with half the width
// of its interval. P90 is the error that nine of ten clients do not exceed.
type tested struct {
	Text string `json:"text"`
	P90  string `json:"p90,omitempty"`
	test float64
}

// best is the best model so far, by an estimate, or the returned one.
type best struct {
	Trial    int     `json:"trial"`
	Round    int     `json:"round"`
	Score    float64 `json:"score"`
	Returned bool    `json:"returned"`
	Basis    string  `json:"basis"` // what the score is from
}

// scale says how scores are written.
type scale struct {
	Name      string `json:"name"` // such as "validation error (personalized)"
	Metric    string `json:"metric"`
	Direction string `json:"direction"`
	Percent   bool   `json:"percent"`
}

// begun is when the study was, or its first seed.
func (e *Entry) begun() time.Time {
	if e.Started == nil {
		return time.Time{}
	}
	return *e.Started
}

// sum makes an entry stand for its seeds.
func (e *Entry) sum(notes view.Notes) {
	dir, seeds, first := e.Dir, e.Seeds, e.Seeds[0]
	*e = first
	e.Dir, e.Seeds, e.Tests, e.Best, e.Left, e.PID = dir, seeds, map[string]tested{}, nil, nil, 0
	e.Trials, e.Rounds, e.Budget, e.Worked = 0, 0, 0, 0
	order := []view.State{view.Completed, view.Interrupted, view.Running}
	tests := map[string][]float64{}
	var verdicts [][]string
	for _, s := range seeds {
		verdicts = append(verdicts, s.Verdict)
		notes.Add(s.Notes.Tags...)
		e.Trials, e.Rounds, e.Budget, e.Worked = e.Trials+s.Trials, e.Rounds+s.Rounds, e.Budget+s.Budget, e.Worked+s.Worked
		if slices.Index(order, s.State) > slices.Index(order, e.State) {
			e.State = s.State
		}
		if s.Left != nil {
			e.Left = s.Left
		}
		if s.begun().Before(e.begun()) {
			e.Started = s.Started
		}
		for target, t := range s.Tests {
			tests[target] = append(tests[target], t.test)
		}
	}
	e.Verdict = view.Warnings(verdicts, "seed")
	e.Notes, e.About = notes, notes.After(e.trained)
	for target, values := range tests {
		e.Tests[target] = tested{Text: view.MeanText(e.told, stats.Of(values))}
	}
}

// below is a folder's path as pages name it.
func (s *Server) below(dir string) string {
	path, err := filepath.Rel(s.Root, dir)
	if err != nil {
		path = dir
	}
	return filepath.ToSlash(path)
}

// head is what the list tells of a study.
func (s *Server) head(o *view.Overview) Entry {
	e := Entry{
		Dir: s.below(o.Dir), Name: o.Name, Command: o.Mode, State: o.State, PID: o.PID, Cores: o.Cores.Seconds(),
		Trials: len(o.Suggested()), Rounds: o.Rounds, Budget: o.Budget, Worked: o.Worked.Seconds(), Notes: o.Notes,
	}
	if !o.Started.IsZero() {
		e.Started = new(o.Started) // a place in o would keep all its trials
	}
	if b := o.Best; b != nil {
		e.Best = &best{b.Trial, b.Round, b.Score, b.Returned, b.Basis()}
	}
	if o.Mode == config.ModeTune {
		s := o.Scale()
		e.Scale = scale{s.String(), s.Metric, s.Direction(), s.Percent}
	}
	if o.Run != nil && o.Run.Traffic != nil {
		e.Traffic = o.Run.Traffic.Sums()
	}
	e.trained = report.Subtitle(o)
	e.About = o.Notes.After(e.trained)
	e.Measure, e.Share = result.MeasureName(o.Measure())
	e.Judged, e.Tests = o.Judged(), map[string]tested{}
	e.told = o.Told()
	e.Told = e.told.Metric
	for _, target := range view.Targets {
		t := tested{test: view.TestOf(target)(o)}
		if math.IsNaN(t.test) {
			continue
		}
		t.Text = e.told.Text(t.test)
		if _, p90 := o.Test(target); p90 != nil && e.told.Of == "" {
			t.P90 = o.ErrorText(*p90)
		}
		e.Tests[target] = t
	}
	e.Verdict = o.Verdict()
	e.Stage = o.Stage()
	if left := o.Left(); o.State == view.Running && o.Rounds > 0 && left > 0 {
		e.Left = new(e.Worked / float64(o.Rounds) * float64(left))
		if o.Tune != nil && o.Tune.RoundsPerSecond > 0 {
			e.Left = new(float64(left) / o.Tune.RoundsPerSecond)
		}
	}
	return e
}

// page is what the page of a study tells but for curves.
type page struct {
	Entry
	// Seq is the last entry of the record that is told here.
	Seq      int64       `json:"seq"`
	All      []trial     `json:"all"`
	Parts    []part      `json:"parts"` // tabs
	Path     string      `json:"path"`  // of the folder
	Word     string      `json:"word"`  // the path, as commands name it
	Config   string      `json:"config"`
	Metrics  []string    `json:"metrics"`  // that curves can tell
	Models   string      `json:"models"`   // of which curves have test errors
	Answer   []string    `json:"answer"`   // how good the model is
	Next     []view.Step `json:"next"`     // what may follow
	Discount float64     `json:"discount"` // of earlier rounds in a score, see config.Config.Discount
	// Note says whose hyperparameters the trials have, empty for theirs throughout; Where is the rung
	// at which they are compared.
	Note  string `json:"note"`
	Where string `json:"where"`
	// Control says that this server can stop the study; Halted that a person has.
	Control bool `json:"control"`
	Halted  bool `json:"halted"`
}

// trial is a row of the table of trials.
type trial struct {
	Number int           `json:"number"`
	State  view.State    `json:"state"`
	Rounds int           `json:"rounds"`
	To     int           `json:"to"`
	Score  *float64      `json:"score"`
	Params tuners.Params `json:"params"`
	Source *int          `json:"source,omitempty"`
	Reason string        `json:"reason,omitempty"` // why it failed or was stopped
	// Final is its best score as a finalist, Place its own in the order of the best first.
	Final *float64 `json:"final"`
	Place int      `json:"place"`
	// At is its score at the rung where trials are compared, null if it did not reach it.
	At *float64 `json:"at"`
	// Settings are its hyperparameters as a study file has them.
	Settings string `json:"settings"`
}

// settings writes the hyperparameters of a trial as a study file has them: of the returned model
// what its client tuner ended with.
func settings(o *view.Overview, t *view.Trial) (string, error) {
	params, notes := t.Params, []string{}
	switch {
	case o.Tune != nil && o.Tune.Best.Number == t.Number:
		params = o.Tune.Best.Params
		if told := o.Tune.Best.Hyperparameters(o.Tune.Trials); told[1] != "" {
			notes = []string{"# " + told[0], "# started from " + told[1]}
		}
	case o.StartNote() != "":
		notes = []string{"# " + o.StartNote()}
	}
	tables := map[string]tuners.Params{}
	for _, name := range params.Keys() {
		table, key, _ := strings.Cut(name, ".")
		if _, ok := hyper.FindTunable(name); !ok {
			notes = append(notes, "# "+name+" = "+params[name].String())
		} else {
			tables[table] = tables[table].Merge(tuners.Params{key: params[name]})
		}
	}
	var text strings.Builder
	err := toml.NewEncoder(&text).Encode(tables)
	return strings.TrimSpace(text.String() + "\n" + strings.Join(notes, "\n")), err
}

// look opens the study that a request is about; who asked closes it.
func (s *Server) look(r *http.Request) (*view.Study, *view.Overview, error) {
	dir, err := s.folder(r)
	if err != nil {
		return nil, nil, err
	}
	return view.Open(r.Context(), dir)
}

// study tells of a study what its page needs first.
func (s *Server) study(r *http.Request) (any, error) {
	v, o, err := s.look(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	p := page{
		Entry: s.head(o), Seq: o.Seq, All: []trial{}, Metrics: metrics(o),
		Models: strings.TrimPrefix(config.Models(o.Config.Measures(o.Mode)), "the "), Answer: o.Answer(),
		Next: append([]view.Step{}, o.Next()...), Discount: o.Config.Discount(), Path: o.Dir, Word: oneline.Path(o.Dir),
		Config: o.Text, Parts: tabs(o),
	}
	for i := range o.Trials {
		t := &o.Trials[i]
		text, err := settings(o, t)
		if err != nil {
			return nil, err
		}
		reason := t.Reason()
		if t.Reference {
			reason = cmp.Or(reason, "default")
		}
		p.All = append(p.All, trial{t.Number, t.State, t.Rounds, t.To, t.Score(), t.Params, t.Source, reason, o.Place(t).Final, 0, nil, text})
	}
	for place, i := range o.Ranked() {
		p.All[i].Place = place
	}
	p.About, p.Note = report.About(o), view.Sentence(o.StartNote())
	var scores map[int]float64
	p.Where, scores = o.AtRung(func(*view.Trial) bool { return true })
	for i, score := range scores {
		p.All[i].At = &score
	}
	p.Control = s.Control != nil && v.Dir() == s.Root && o.State == view.Running && o.Tune == nil
	for _, a := range o.Acts {
		p.Halted = p.Halted || a.Trial < 0
	}
	return p, nil
}

// length is how many rounds a trial of the study has at most.
func length(o *view.Overview) int {
	n := o.Config.Budget.TrialRounds
	if o.Mode == config.ModeRun {
		n = o.Config.Rounds
	}
	for i := range o.Trials {
		n = max(n, o.Trials[i].Rounds)
	}
	return n
}

// metrics are those that rounds of the study tell.
func metrics(o *view.Overview) []string {
	var names []string
	if o.Config.Eval.Every != 0 {
		names = append(names, "test")
	}
	if o.Mode == config.ModeTune {
		names = append(names, "score")
		if o.Config.Measures(o.Mode) != o.Judged() {
			slices.Reverse(names) // that of which the answer tells
		}
	}
	return append(names, "loss")
}
