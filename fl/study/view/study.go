package view

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// State is how far a study or a trial is.
type State = result.State

// The states of studies and trials, those of study. A study is never pruned or failed.
const (
	Running     = result.Running
	Completed   = result.Completed
	Pruned      = result.Pruned
	Failed      = result.Failed
	Interrupted = result.Interrupted
)

// Study is a study that is only looked at. Its methods may be called from several
// goroutines.
type Study struct {
	dir  string
	view *store.View
}

// Look opens the study in a directory for reading. A directory without one is an
// error that wraps fs.ErrNotExist.
func Look(ctx context.Context, dir string) (*Study, error) {
	v, err := store.Look(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Study{dir, v}, nil
}

// Open is Look, and what the study has come to.
func Open(ctx context.Context, dir string) (*Study, *Overview, error) {
	s, err := Look(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	o, err := s.Overview(ctx)
	if err != nil {
		_ = s.Close() // it was read only
		return nil, nil, err
	}
	return s, o, nil
}

// Close ends the reading.
func (s *Study) Close() error { return s.view.Close() }

// Last returns the number of the last entry, 0 without any.
func (s *Study) Last(ctx context.Context) (int64, error) { return s.view.Last(ctx) }

// Pack is store.View.Pack.
func (s *Study) Pack(ctx context.Context, path string, key ed25519.PrivateKey) (store.Seal, error) {
	return s.view.Pack(ctx, path, key)
}

// Seal is store.View.Seal.
func (s *Study) Seal() *store.Seal { return s.view.Seal() }

// Table is store.View.Table.
func (s *Study) Table(ctx context.Context, name string) (*store.Table, error) {
	return s.view.Table(ctx, name)
}

// Dir returns the study's directory.
func (s *Study) Dir() string { return s.dir }

// Overview is what a study has come to so far, but for its rounds.
type Overview struct {
	Dir string
	// Name is the study's, Mode the command that began it: config.ModeTune or
	// config.ModeRun.
	Name, Mode string
	State      State
	// PID is the process that works on the study, 0 for none.
	PID int
	// Config is the study's configuration. Text is the same as TOML.
	Config *config.Config
	Text   string
	// Started is when the study began, Last when anything was recorded last.
	Started, Last time.Time
	// Worked is how long processes have worked on it; of a finished study what its result tells.
	Worked time.Duration
	// Cores is how long their concurrent client tasks had for it, summed up.
	Cores time.Duration
	// Sessions are those processes.
	Sessions []result.Session
	// Rounds are those that all trials have run, Budget those that they will have
	// run together when the study ends, as far as the configuration tells.
	Rounds, Budget int
	// Trials are in the order of their numbers.
	Trials []Trial
	// Best is the returned model of a study that has one, else the standing of the
	// best trial; nil before any score.
	Best *Best
	// Finalists are the models among which the study chooses, as they are scored.
	Finalists []Finalist
	// Acts are the user's actions, in their order.
	Acts []Act
	// Baseline is the comparison with random search, as far as it is; nil for none.
	Baseline *result.Comparison
	// Tune or Run is the end of a finished study, without its weights.
	Tune *result.Result
	Run  *result.RunResult
	// Seq is the last entry of the record that is told here.
	Seq int64
	// Notes are what people wrote beside the study.
	Notes Notes
}

// Verdict says in sentences what is wrong with what a finished study has trained, see
// result.Result; it is empty where nothing is.
func (o *Overview) Verdict() []string {
	switch {
	case o.Tune != nil:
		return o.Tune.Verdict(o.Config)
	case o.Run != nil:
		return o.Run.Verdict()
	}
	return nil
}

// Best is the model that is the best so far.
type Best struct {
	result.Standing
	// Returned says that the study has returned it. Else the score is an estimate.
	Returned bool
}

// Finalist is the score of a model among which the study chooses.
type Finalist struct {
	Trial, Round int
	Score        float64
}

// Act is what a person had done.
type Act struct {
	At time.Time
	// Act is result.ActStopTrial or result.ActStopStudy.
	Act string
	// Trial is the one that it has ended after Round, below 0 where it is about the
	// whole study.
	Trial, Round int
}

// Stage says what a study still does whose trials have run all their rounds, empty for nothing else.
func (o *Overview) Stage() string {
	switch {
	case o.State == Completed:
	case o.Baseline != nil:
		return o.Baseline.Stage()
	case o.State == Running && len(o.Trials) > len(o.Suggested()) && len(o.Finalists) == 0:
		return "training the configured values"
	case o.State == Running && o.Mode == config.ModeTune && o.Budget > 0 && o.Rounds >= o.Budget:
		return "scoring finalists"
	}
	return ""
}

// Left is about how many rounds are to come, with those of a comparison with random search and the
// evaluations at the end, counted in rounds; 0 where nothing says.
func (o *Overview) Left() int {
	switch b := o.Baseline; {
	case b != nil && o.State != Completed:
		return b.Rounds * (b.Configurations - len(b.Done))
	case o.Budget == 0:
		return 0
	}
	left := max(0, o.Budget-o.Rounds)
	if n := len(o.Sessions); n > 0 && o.Tune == nil {
		last := o.Sessions[n-1]
		left += last.Baseline*o.Config.Budget.TrialRounds + int(last.Evaluations*float64(o.Budget))
	}
	return left
}

// Suggested are the trials that the tuner asked for.
func (o *Overview) Suggested() []Trial {
	if n := len(o.Trials); n > 0 && o.Trials[n-1].Reference {
		return o.Trials[:n-1]
	}
	return o.Trials
}

// Place returns what decides about the place of a trial among the others.
func (o *Overview) Place(t *Trial) result.Place {
	p := result.Place{Won: o.Best != nil && o.Best.Trial == t.Number, Score: t.Score(), Rounds: t.Rounds}
	if p.Score != nil {
		p.Rung = t.Rungs[len(t.Rungs)-1].Round
	}
	for i := range o.Finalists {
		if f := &o.Finalists[i]; f.Trial == t.Number && (p.Final == nil || o.Config.Aim().Better(f.Score, *p.Final)) {
			p.Final = &f.Score
		}
	}
	return p
}

// Ranked returns the places of all trials in Trials, the best one first, see result.Place.
func (o *Overview) Ranked() []int {
	all, places := make([]int, len(o.Trials)), make([]result.Place, len(o.Trials))
	for i := range all {
		all[i], places[i] = i, o.Place(&o.Trials[i])
	}
	slices.SortStableFunc(all, func(a, b int) int { return places[a].Compare(places[b], o.Config.Aim()) })
	return all
}

// few are the kinds of rows of which a study has few.
var few = []string{store.KindSession, store.KindSuggest, store.KindTrial, store.KindRung, store.KindFail, store.KindAct, store.KindFinalist}

// Overview reads what the study has come to so far.
func (s *Study) Overview(ctx context.Context) (*Overview, error) {
	// Whether a process is at work is looked at before its record is read: where none is,
	// the record is then whole, and no study that ends meanwhile seems interrupted.
	o := &Overview{Dir: s.dir, State: Interrupted, PID: s.view.Busy()}
	o.Notes, _ = ReadNotes(s.dir) // a study is shown without
	var err error
	if o.Seq, err = s.view.Last(ctx); err != nil {
		return nil, err
	}
	stored, err := result.Read(ctx, sparse{s.view})
	if err != nil {
		return nil, err
	}
	switch {
	case stored.Config != "":
	case o.Seq > 0:
		return nil, fmt.Errorf("%s: the record is damaged: it does not say what the study is; `fedfast study resume %s` keeps it aside and begins again", s.dir, oneline.Path(s.dir))
	case o.PID > 0:
		return nil, fmt.Errorf("%s: study is starting; nothing is recorded yet", s.dir)
	default:
		return nil, fmt.Errorf("%s: study was interrupted before anything was recorded; start it again with `fedfast study resume %s`", s.dir, oneline.Path(s.dir))
	}
	o.Mode, o.Text, o.Tune, o.Run, o.Baseline = stored.Mode, stored.Config, stored.Tune, stored.Run, stored.Baseline
	if o.Config, err = config.Load(config.Source{Text: stored.Config}); err != nil {
		return nil, fmt.Errorf("%s: %w", s.dir, err)
	}
	o.Name = o.Config.Name
	switch {
	case stored.Finished() && (o.Baseline == nil || o.Baseline.Complete()):
		o.State = Completed
	case o.PID > 0:
		o.State = Running
	}
	b := &builder{o: o, fork: map[int]int{}, sent: map[int]int{}, decided: map[int]int{}, stopped: map[int]bool{}}
	if err := s.view.Few(ctx, o.Seq, b.read, few...); err != nil {
		return nil, err
	}
	last, err := s.view.Latest(ctx, o.Seq, store.KindRound)
	if err != nil {
		return nil, err
	}
	b.finish(last)
	if err := s.leader(ctx, o); err != nil {
		return nil, err
	}
	return o, s.times(ctx, o)
}

// leader fills in the best model so far.
func (s *Study) leader(ctx context.Context, o *Overview) error {
	switch {
	case o.Tune != nil:
		best := o.Tune.Best
		if !slices.ContainsFunc(o.Trials, func(t Trial) bool { return t.Number == best.Number }) {
			return fmt.Errorf("%s: the record is damaged: its result is of trial %d, which it does not have", o.Dir, best.Number)
		}
		o.Best = &Best{result.Standing{Trial: best.Number, Round: best.Round, Score: best.Score, Rounds: 1, Clients: o.Config.Cohort}, true}
		if len(o.Tune.Finalists) > 0 {
			o.Best.Clients = o.Tune.Finalists[0].Clients
		}
		return nil
	case o.Mode == config.ModeRun:
		return nil
	}
	best, aim := result.Standing{Score: math.NaN()}, o.Config.Aim()
	for i := range o.Trials {
		t := &o.Trials[i]
		if t.State == Failed || t.Reference {
			continue
		}
		var recent result.Recent
		err := s.view.Of(ctx, t.Number, max(t.First, t.Rounds-result.StandingRounds), func(r store.Row) error {
			e, err := result.ReadEntry(r)
			if err == nil && e.Seq <= o.Seq {
				if o.Config.ToGoal() { // as study.Progress has it
					recent = result.Recent{}
				}
				recent.Add(e.Measured.Score, e.Measured.Clients)
			}
			return err
		}, store.KindRound)
		if err != nil {
			return err
		}
		if at := recent.Standing(t.Number, t.Rounds, len(t.Rungs) > 0); at.Before(best, aim) {
			best = at
		}
	}
	if !math.IsNaN(best.Score) {
		o.Best = &Best{Standing: best}
	}
	return nil
}

// Clients returns the test errors of the returned model on single clients; none before
// the study's end.
func (s *Study) Clients(ctx context.Context, o *Overview) (all []fl.ClientError, err error) {
	err = s.view.Few(ctx, o.Seq, func(r store.Row) (err error) {
		all, err = result.ReadClients(r)
		return err
	}, store.KindClients)
	return all, err
}

// mostWorst is how many clients Worst returns.
const mostWorst = 5

// Worst returns the five clients, or fewer, with the highest test errors: those of their personalized
// model, else of the global one. The highest is first.
func Worst(clients []fl.ClientError) []fl.ClientError {
	all := slices.Clone(clients)
	slices.SortStableFunc(all, func(a, b fl.ClientError) int { return cmp.Compare(Own(b), Own(a)) })
	return all[:min(mostWorst, len(all))]
}

// Own is the test error of a client's personalized model, or of the global one where
// none was measured.
func Own(c fl.ClientError) float64 {
	if math.IsNaN(c.Personalized) {
		return c.Global
	}
	return c.Personalized
}

// Scale says how scores of the study are written.
func (o *Overview) Scale() result.Scale { return result.ScaleOf(o.Config, o.Measure()) }

// Measure says what the errors of the study's models are, see result.Errors; before
// its end as far as its last session and its configuration tell.
func (o *Overview) Measure() string {
	switch {
	case o.Tune != nil:
		return o.Tune.Measure
	case o.Run != nil:
		return o.Run.Measure
	}
	if n := len(o.Sessions); n > 0 && o.Sessions[n-1].Measure != "" {
		return o.Sessions[n-1].Measure
	}
	return result.MeasureOf(o.Config)
}

// times fills in when processes worked on the study.
func (s *Study) times(ctx context.Context, o *Overview) error {
	var begins []int64
	if err := s.view.Few(ctx, o.Seq, func(r store.Row) error {
		begins = append(begins, r.Seq)
		return nil
	}, store.KindSession); err != nil {
		return err
	}
	for i, begin := range begins {
		end := o.Seq + 1
		if i+1 < len(begins) {
			end = begins[i+1]
		}
		last, err := s.view.LastBefore(ctx, end)
		if err != nil {
			return err
		}
		first, err := s.view.LastBefore(ctx, begin+1)
		if err != nil {
			return err
		}
		o.Worked += last.Sub(first)
		o.Cores += last.Sub(first) * time.Duration(max(1, o.Sessions[i].Workers))
		o.Last = last
		if i == 0 {
			o.Started = first
		}
	}
	switch {
	case o.State != Completed:
	case o.Tune != nil:
		o.Worked = time.Duration(o.Tune.Took() * float64(time.Second))
	case o.Run != nil:
		o.Worked = time.Duration(o.Run.Seconds * float64(time.Second))
	}
	return nil
}

// sparse is a store.Reader of kinds of which there are few, which goes through no other rows.
type sparse struct{ *store.View }

// Each calls f for every row.
func (v sparse) Each(ctx context.Context, f func(store.Row) error, kinds ...string) error {
	last, err := v.Last(ctx)
	if err != nil {
		return err
	}
	return v.Few(ctx, last, f, kinds...)
}
