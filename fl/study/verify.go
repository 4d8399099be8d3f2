package study

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// DifferError is the error of a part of a record that was made again and is not the recorded one.
type DifferError = trial.DifferError

// What Verify takes for the number of a trial: that of the returned model, or all.
const (
	Winner = -1
	Every  = -2
)

// Part says what Verify trains again: a trial by its number, Winner or Every, and its first rounds, or all and
// its models if Rounds is 0. Watch receives what it does.
type Part struct {
	Trial, Rounds int
	Watch         trial.Watch
}

// Verified is what was made again, to the recorded bits.
type Verified struct {
	// Whole says that nothing was left out of what can be made again.
	Whole bool `json:"whole"`
	// Rounds were trained again, of All that the study recorded; in Trials trials.
	Rounds int `json:"rounds"`
	All    int `json:"recorded_rounds"`
	Trials int `json:"trials"`
	// Measured models were evaluated again, of Models whose scores or errors the record has.
	Measured int `json:"measured_models"`
	Models   int `json:"recorded_models"`
	// Calls counts the calls that the tuner answered again, all or none.
	Calls int `json:"tuner_calls"`
	// Model says that the returned model, whose digest is SHA256, has been trained again.
	Model  bool   `json:"model"`
	SHA256 string `json:"weights_sha256"`
}

// Verify trains a part of the finished study in s.Store again, with the recorded decisions of tuners, and
// compares what it measures with the record. Of a whole trial it evaluates the models, and makes all that
// the record concludes from rounds and evaluations again. With Every it measures what was trained without
// federation or on proxy federations and sub-networks, too, and asks the tuner again.
// What is not the recorded one is a *DifferError. For a study of Tune the set-up has the same tuners.
func Verify(ctx context.Context, s Setup, part Part) (_ *Verified, err error) {
	v := &verifier{Part: part, models: map[replay.Point]bool{}, out: &Verified{}}
	if err := CheckData(ctx, s); err != nil {
		return v.out, err
	}
	if err := s.Store.Each(ctx, v.ends, store.KindStudy, store.KindResult); err != nil {
		return v.out, err
	}
	var was []store.Row
	if s.Store, was, err = s.Store.Without(ctx, v.concluded); err != nil {
		return v.out, err
	}
	defer func() { _ = s.Store.Close() }() // it is of memory
	begin := s.Store.Seq()
	s.sealed, s.again = true, v.verifies(Every)
	var t *entrant
	if s.Tuner == nil {
		v.driver, t, err = s.ended(ctx)
	} else {
		v.driver, t, err = follow(ctx, &s)
	}
	if err != nil {
		return v.out, err
	}
	defer v.close()
	v.trained, v.judge = trained{v.driver}, v
	if err = v.conclude(ctx, t); err == nil {
		err = v.compare(ctx, was, begin)
	}
	if err == nil {
		err = v.train(ctx)
	}
	for _, t := range v.trials {
		v.out.Rounds += max(0, t.Repeated-t.Base())
	}
	v.out.Whole = v.out.Rounds == v.out.All && v.out.Measured == v.out.Models &&
		(s.again || s.Tuner == nil && v.was.Run.Without == nil)
	return v.out, err
}

// verifier makes a study again. It measures the models of the trials that are verified, and takes what
// is recorded of the others.
type verifier struct {
	trained
	was    result.End
	chosen []*result.Chosen // of was, the returned one first
	Part
	models map[replay.Point]bool // that the record tells of, and whether they were measured
	out    *Verified
}

// ends takes in the end of the study, and makes its first row again from the configuration in it.
func (v *verifier) ends(r store.Row) error {
	if r.Kind == store.KindStudy {
		var was, again record.Study
		err := json.Unmarshal(r.Data, &was)
		if c, failed := config.Load(config.Source{Text: was.Config}); failed == nil {
			again, err = record.StudyOf(c, was.Mode)
			again.Config = was.Config // other versions have other keys
		}
		now, _ := json.Marshal(again) // of texts and a number
		return cmp.Or(err, Same(r, now))
	}
	end, err := record.Decode[result.End](r.Kind, r.Data)
	if err != nil {
		return err
	}
	v.was = *end
	if end.Run != nil {
		round := end.Run.Rounds
		if end.Run.Returned > 0 {
			round = end.Run.Returned
		}
		v.chosen = []*result.Chosen{{Round: round, SHA256: end.Run.WeightsSHA256, Errors: end.Run.Errors}}
	} else {
		v.chosen = end.Tune.Models()
		if ref := end.Tune.Reference; ref != nil && ref.Model != nil {
			v.chosen = append(v.chosen, ref.Model)
		}
		for _, f := range end.Tune.Finalists {
			v.models[replay.Point{Trial: f.Trial, Round: f.Round}] = false
		}
	}
	for _, c := range v.chosen {
		v.models[replay.Point{Trial: c.Number, Round: c.Round}] = false
	}
	v.out.Models = len(v.models)
	v.out.SHA256 = v.chosen[0].SHA256
	if v.Trial == Winner {
		v.Trial = v.chosen[0].Number
	}
	return nil
}

// concluded reports whether a row follows from others, which are taken as they are.
func (v *verifier) concluded(r store.Row) bool {
	switch r.Kind {
	case store.KindData, store.KindRung, store.KindResult:
		return true
	case store.KindClients:
		return v.verifies(v.chosen[0].Number)
	case store.KindFinalist:
		return v.verifies(r.Trial)
	case store.KindLocal, store.KindAlone:
		return v.verifies(Every)
	}
	return false
}

// verifies reports whether the models of a trial are measured.
func (v *verifier) verifies(number int) bool {
	return v.Rounds == 0 && (v.Trial == Every || v.Trial == number)
}

// measures counts a model that the record tells of and reports whether it is measured.
func (v *verifier) measures(m *trial.Model) bool {
	yes, at := v.verifies(m.Trial.Number), replay.Point{Trial: m.Trial.Number, Round: m.Round}
	if done, recorded := v.models[at]; recorded && yes && !done {
		v.models[at] = true
		v.out.Measured++
	}
	return yes
}

// finalScore measures a finalist: the scores of others are recorded.
func (v *verifier) finalScore(ctx context.Context, m *trial.Model, name string) (*fl.Summary, error) {
	if v.measures(m) {
		return v.trained.finalScore(ctx, m, name)
	}
	return nil, fmt.Errorf("the record lacks the score of a finalist, trial %d after round %d", m.Trial.Number, m.Round)
}

// evaluate measures a model, or takes its recorded errors.
func (v *verifier) evaluate(ctx context.Context, c *result.Chosen, m *trial.Model, name string) error {
	if v.measures(m) {
		return v.trained.evaluate(ctx, c, m, name)
	}
	for _, was := range v.chosen {
		if was.Number == m.Trial.Number && was.Round == m.Round {
			c.SHA256, c.Settings, c.Errors = was.SHA256, was.Settings, was.Errors
			return nil
		}
	}
	return fmt.Errorf("the record lacks the errors of trial %d after round %d", m.Trial.Number, m.Round)
}

// conclude makes the end of the study again.
func (v *verifier) conclude(ctx context.Context, t *entrant) error {
	every := v.verifies(Every)
	if !every { // what was trained without federation is recorded
		v.setup.Config.Eval.Baselines = nil
	}
	for i := range v.best {
		if v.verifies(v.best[i].Trial.Number) {
			if err := v.best[i].Fill(ctx); err != nil {
				return err
			}
		}
	}
	var end result.End
	if was := v.was.Run; was != nil {
		m := t.ended()
		r, err := v.runResult(ctx, t, &m)
		if err != nil {
			return err
		}
		if !every {
			r.Without = was.Without
		}
		r.RoundsPerSecond, r.DigestShare, r.Audit = was.RoundsPerSecond, was.DigestShare, was.Audit
		end.Run = r
	} else {
		was := v.was.Tune
		r, err := v.result(ctx, t)
		if err != nil {
			return err
		}
		if !every {
			r.Without = was.Without
			if r.Reference != nil && was.Reference != nil {
				now, ref := r.Reference, was.Reference
				now.Test, now.Gain, now.GainHalf = ref.Test, ref.Gain, ref.GainHalf
			}
		}
		r.RoundsPerSecond, r.Pauses, r.Audit, r.Baseline = was.RoundsPerSecond, was.Pauses, was.Audit, was.Baseline
		end.Tune = r
	}
	v.out.Model = v.verifies(v.chosen[0].Number)
	return v.finish(end)
}

// compare compares the rows behind a number with the recorded ones of their kinds.
func (v *verifier) compare(ctx context.Context, was []store.Row, behind int64) error {
	var now []store.Row
	if err := v.past.Store.Each(ctx, func(r store.Row) error {
		if r.Seq > behind && v.concluded(r) {
			now = append(now, r)
		}
		return nil
	}); err != nil {
		return err
	}
	none := []byte("{}")
	for _, r := range was {
		i := slices.IndexFunc(now, func(q store.Row) bool {
			return q.Kind == r.Kind && q.Trial == r.Trial && q.Round == r.Round
		})
		again := none
		if i >= 0 {
			again = now[i].Data
			now = slices.Delete(now, i, i+1)
		}
		if err := Same(r, again); err != nil {
			return err
		}
	}
	for _, r := range now {
		return Same(store.Row{Kind: r.Kind, Trial: r.Trial, Round: r.Round, Data: none}, r.Data)
	}
	return nil
}

// Same returns a *DifferError unless a row that was made again, as now, is the recorded one but for seconds that
// something took, with half widths of intervals to nine digits.
func Same(r store.Row, now []byte) error {
	was, again := rounded(r.Data), rounded(now)
	if bytes.Equal(was, again) {
		return nil
	}
	return &DifferError{What: r.Kind, Trial: r.Trial, Round: r.Round, Now: again, Recorded: was}
}

// sameReport is Same of a report to a tuner.
func sameReport(was, again tuners.TrialReport) error {
	recorded, err := json.Marshal(record.ReportOf(was))
	now, failed := json.Marshal(record.ReportOf(again))
	r := store.Row{Kind: store.KindReport, Trial: was.Trial, Round: was.Round, Data: recorded}
	return cmp.Or(err, failed, Same(r, now))
}

// half finds half widths of intervals, whose quantiles of Student's t are not equal to the bit on other kinds of
// CPU, and seconds that something took.
var half = regexp.MustCompile(`"(gain_half|seconds)":[0-9.e+-]+`)

// rounded is a row with half widths of nine digits, and without seconds.
func rounded(row []byte) []byte {
	return half.ReplaceAllFunc(row, func(text []byte) []byte {
		name, number, _ := bytes.Cut(text, []byte{':'})
		x, _ := strconv.ParseFloat(string(number), 64) // else 0
		if string(name) == `"seconds"` {
			x = 0
		}
		return fmt.Appendf(nil, "%s:%.9g", name, x)
	})
}

// train trains what models have not needed, and asks the tuner.
func (v *verifier) train(ctx context.Context) error {
	for _, t := range v.trials {
		v.out.All += t.Rounds() - t.Base()
		if v.Trial != Every && v.Trial != t.Number {
			continue
		}
		to := t.Rounds()
		if v.out.Trials++; v.Rounds > 0 && (v.Watch.Trace != nil || v.Rounds < to) {
			to = v.Rounds
		}
		if t.Repeated < to {
			if err := t.Verify(ctx, to, v.Watch); err != nil {
				return err
			}
		}
	}
	if v.out.Trials == 0 {
		return fmt.Errorf("there is no trial %d, but 0 to %d", v.Trial, len(v.trials)-1)
	}
	if v.setup.Tuner == nil || !v.verifies(Every) {
		return nil
	}
	session, err := v.openStudySession(ctx)
	if err != nil {
		return err
	}
	agreed, _, err := session.Agreed(ctx, false)
	if err == nil && !session.All(len(agreed)) {
		return fmt.Errorf("call %d of the tuner: it decides differently from the record", len(agreed)+1)
	}
	v.out.Calls = len(agreed)
	return err
}

// missing is the error of a round that a finished study has not recorded.
func missing(t *trial.Trial, rounds int) (*record.Round, error) {
	return nil, fmt.Errorf("trial %d: round %d is missing in the record", t.Number, rounds+1)
}

// finalists returns the models among which the study chooses, each once: the last ones of
// survivors, of which it describes how many there are, the tuner's choice before all,
// then the best snapshots.
func (d *driver) finalists(survivor *entrant) (all []trial.Model, survivors int) {
	able := eligible(d.suggested(), d.aims)
	if survivor != nil && !slices.Contains(able, survivor) {
		survivor = nil
	}
	last := list.Of(survivorsOf(able, survivor, d.objective, d.setup.Config.Finalists.Survivors), d.lastOf)
	best, most := ofThem(d.best, able, d.aims), d.setup.Config.Finalists.Snapshots
	if len(last) == 0 { // users have ended all trials
		most = max(1, most)
	}
	return withBest(last, best[:min(len(best), most)]), len(last)
}

// ofThem returns the best models of trials that are eligible.
func ofThem[T survivor](best ranking, able []T, aims tuners.Aims) ranking {
	if len(aims.Constraints) == 0 || len(able) == 0 {
		return best
	}
	return slices.DeleteFunc(slices.Clone(best), func(m trial.Model) bool {
		return !slices.ContainsFunc(able, func(t T) bool { return t.number() == m.Trial.Number })
	})
}

// withBest returns models with those of the best that are not among them.
func withBest(models []trial.Model, best ranking) []trial.Model {
	seen := map[replay.Point]bool{}
	for _, m := range models {
		seen[replay.Point{Trial: m.Trial.Number, Round: m.Round}] = true
	}
	for _, m := range best {
		if !seen[replay.Point{Trial: m.Trial.Number, Round: m.Round}] {
			models = append(models, m)
		}
	}
	return models
}

// survivor is a trial that may be a finalist: alive if neither it failed nor a user ended it,
// after a rung, whose score final returns.
type survivor interface {
	comparable
	alive() bool
	length() int
	final() float64
	valued() map[string]float64 // at its last rung, by metric
	number() int
}

// survivorsOf returns the tuner's choice, unless it is zero, and the other trials that are alive,
// those that ran longest first, of equally long ones the best last score, ties by number; at most
// n of them.
func survivorsOf[T survivor](trials []T, choice T, aim tuners.Objective, n int) []T {
	var none T
	alive := slices.DeleteFunc(slices.Clone(trials), func(t T) bool { return t == choice || !t.alive() })
	slices.SortStableFunc(alive, func(a, b T) int {
		return cmp.Or(cmp.Compare(b.length(), a.length()), aim.Compare(a.final(), b.final()), cmp.Compare(a.number(), b.number()))
	})
	if choice != none {
		alive = slices.Insert(alive, 0, choice)
	}
	return alive[:min(len(alive), n)]
}

// stop ends a trial's rounds as the tuner decided. What may be a finalist keeps its weights: of
// the trials that were stopped the first, as survivorsOf ranks them.
func (d *driver) stop(t *entrant) error {
	c := &d.setup.Config
	t.Spared = c.Select == config.SelectFinalists
	if err := t.Stop(); err != nil || !t.Spared || !t.alive() {
		return err
	}
	d.spared = survivorsOf(append(d.spared, t), nil, d.objective, len(d.trials))
	for n := len(d.spared) - 1; n >= c.Finalists.Survivors; n-- {
		if err := d.spared[n].Forgo(); err != nil {
			return err
		}
		d.spared = d.spared[:n]
	}
	return nil
}

// alive reports whether the trial has not failed, nor been ended by a user, after a rung.
func (t *entrant) alive() bool {
	if t == nil {
		return false
	}
	p := t.Phase()
	return (p == trial.Waiting || p == trial.Completed || p == trial.Stopped) && len(t.rungs) > 0
}

// valued are the values of the trial at its last rung.
func (t *entrant) valued() map[string]float64 { return t.rungs[len(t.rungs)-1].Values }

func (t *entrant) number() int { return t.Number }

// final is the score at the trial's last rung.
func (t *entrant) final() float64 { return t.rungs[len(t.rungs)-1].Score }

// scoreFinalists scores the models, the first of which are survivors, and adds
// them to the result. Each score is recorded before the next model is scored.
func (d *driver) scoreFinalists(ctx context.Context, models []trial.Model, survivors int, r *result.Result) error {
	h := d.past
	for i := range models {
		m := &models[i]
		rec := h.Finalists[replay.Point{Trial: m.Trial.Number, Round: m.Round}]
		if rec == nil {
			v, err := d.judge.finalScore(ctx, m, fmt.Sprintf("finalist %d of %d", i+1, len(models)))
			if err != nil {
				return err
			}
			rec = &record.Finalist{Score: record.Real(v.Metric(d.objective.Metric)), Clients: v.Clients, Examples: v.Examples}
			if err := h.Append(store.KindFinalist, m.Trial.Number, m.Round, rec); err != nil {
				return err
			}
			if err := h.Flush(); err != nil {
				return err
			}
		}
		f := result.Finalist{
			Trial: m.Trial.Number, Round: m.Round, Survivor: i < survivors, CohortScore: m.Score,
			Score: float64(rec.Score), Clients: rec.Clients, Examples: rec.Examples,
		}
		r.Finalists = append(r.Finalists, f)
		d.setup.Observer.Event(finalistEvent(&f))
	}
	return nil
}

// finalistEvent is the line of the metrics about a finalist.
func finalistEvent(f *result.Finalist) Event {
	return Event{Event: "finalist", Trial: f.Trial, Round: f.Round, Score: &f.Score}
}

// finalScore scores a model in the study's objective and under its target, with the
// noise that its rounds' scores have. name is the name of Evaluated.
func (d *trained) finalScore(ctx context.Context, m *trial.Model, name string) (*fl.Summary, error) {
	if err := m.Fill(ctx); err != nil {
		return nil, err
	}
	config := &d.setup.Config
	_, noise := d.setup.account.Scores(config.Score.Options())
	server := m.Trial.Hyper().Server
	v := fl.EvalConfig{
		Server: &server, State: m.Memory, Sample: config.Finalists.Clients,
		Noise: noise, Trial: m.Trial.Number, Round: m.Round, Done: evaluated(d.setup.Observer, name),
	}
	if d.objective.Target == tuners.TargetPersonalized {
		var err error
		if v.Clients, err = m.TestClients(ctx); err != nil {
			return nil, err
		}
	}
	r, err := d.engine.Validate(ctx, m.Weights, v)
	return r, d.crashed(err)
}
