package study

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/fl/study/internal/trial"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
)

// DifferError is the error of a part of a record that was made again and is not the recorded one.
type DifferError = trial.DifferError

// What Verify takes for the number of a trial: that of the returned model, or all.
const (
	Winner = -1
	Every  = -2
)

// Verified is what was made again, to the recorded bits.
type Verified struct {
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

// Verify trains a trial of the finished study in s.Store again, its first rounds, or all if that is 0,
// with the recorded decisions of tuners, and compares what they measure with the record. Of a whole
// trial it evaluates the models, and makes all that the record concludes from rounds and evaluations
// again. With Every it evaluates what was trained without federation, too, and asks the tuner again.
// What is not the recorded one is a *DifferError. For a study of Tune the set-up has the same tuners.
func Verify(ctx context.Context, s Setup, number, rounds int) (out *Verified, err error) {
	if err := CheckData(ctx, s); err != nil {
		return nil, err
	}
	v := &verifier{number: number, partial: rounds > 0, models: map[replay.Point]bool{}, out: &Verified{}}
	if err := s.Store.Each(ctx, v.ends, store.KindResult); err != nil {
		return nil, err
	}
	var was []store.Row
	if s.Store, was, err = s.Store.Without(ctx, v.concluded); err != nil {
		return nil, err
	}
	defer func() { _ = s.Store.Close() }() // it is of memory
	begin := s.Store.Seq()
	var t *entrant
	if v.driver, t, err = s.led(ctx); err != nil {
		return nil, err
	}
	defer v.close()
	v.trained, v.judge = trained{v.driver}, v
	if err = v.conclude(ctx, t); err == nil {
		err = v.compare(ctx, was, begin)
	}
	if err == nil {
		err = v.train(ctx, rounds)
	}
	for _, t := range v.trials {
		v.out.Rounds += max(0, t.Repeated-t.Base())
	}
	return v.out, err
}

// led leads a driver to the end of a study all of whose rounds are recorded, with the trial that it keeps. The
// caller closes it.
func (s *Setup) led(ctx context.Context) (*driver, *entrant, error) {
	s.sealed = true
	if s.Tuner == nil {
		return s.ended(ctx)
	}
	return follow(ctx, s)
}

// verifier makes a study again. It measures the models of the trials that are verified, and takes what
// is recorded of the others.
type verifier struct {
	trained
	was     result.End
	chosen  []*result.Chosen // of was, the returned one first
	number  int
	partial bool                  // no trial is trained whole
	models  map[replay.Point]bool // that the record tells of, and whether they were measured
	out     *Verified
}

// ends takes in the end of the study.
func (v *verifier) ends(r store.Row) error {
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
	if v.number == Winner {
		v.number = v.chosen[0].Number
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
	return !v.partial && (v.number == Every || v.number == number)
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
		r.Seconds, r.RoundsPerSecond, r.DigestShare, r.Audit = was.Seconds, was.RoundsPerSecond, was.DigestShare, was.Audit
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
		r.Seconds, r.RoundsPerSecond, r.Pauses = was.Seconds, was.RoundsPerSecond, was.Pauses
		r.Audit, r.Baseline = was.Audit, was.Baseline
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
	none := store.Row{Data: []byte("{}")}
	differ := func(r store.Row, recorded, again []byte) error {
		return &DifferError{What: r.Kind, Trial: r.Trial, Round: r.Round, Now: again, Recorded: recorded}
	}
	for _, r := range was {
		i := slices.IndexFunc(now, func(q store.Row) bool {
			return q.Kind == r.Kind && q.Trial == r.Trial && q.Round == r.Round
		})
		if i < 0 {
			return differ(r, r.Data, none.Data)
		}
		if !bytes.Equal(rounded(now[i].Data), rounded(r.Data)) {
			return differ(r, r.Data, now[i].Data)
		}
		now = slices.Delete(now, i, i+1)
	}
	if len(now) > 0 {
		return differ(now[0], none.Data, now[0].Data)
	}
	return nil
}

// half finds half widths of intervals, whose quantiles of Student's t are not equal to the bit on other kinds of
// CPU.
var half = regexp.MustCompile(`"gain_half":[0-9.e+-]+`)

// rounded is a row with half widths of nine digits.
func rounded(row []byte) []byte {
	return half.ReplaceAllFunc(row, func(text []byte) []byte {
		name, number, _ := bytes.Cut(text, []byte{':'})
		x, _ := strconv.ParseFloat(string(number), 64) // else 0
		return fmt.Appendf(nil, "%s:%.9g", name, x)
	})
}

// train trains what models have not needed, up to a round or, with 0, to the end, and asks the tuner.
func (v *verifier) train(ctx context.Context, rounds int) error {
	for _, t := range v.trials {
		v.out.All += t.Rounds() - t.Base()
		if v.number != Every && v.number != t.Number {
			continue
		}
		to := t.Rounds()
		if v.out.Trials++; rounds > 0 {
			to = min(to, rounds)
		}
		if t.Repeated >= to {
			continue
		}
		if err := t.Verify(ctx, to); err != nil {
			return err
		}
	}
	if v.out.Trials == 0 {
		return fmt.Errorf("there is no trial %d, but 0 to %d", v.number, len(v.trials)-1)
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
