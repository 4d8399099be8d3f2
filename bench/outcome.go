package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// outcome is what one training came to, from one seed in one precision.
type outcome struct {
	Data        string    `json:"data"`
	Batch       int       `json:"batch"`
	Rounds      int       `json:"rounds"`
	Examples    int       `json:"examples"`
	Losses      []float64 `json:"losses"` // of training, a round each
	Measure     string    `json:"error_measure,omitempty"`
	GlobalError float64   `json:"global_test_error"`
	// PersonalizedError is nil where nothing was personalized.
	PersonalizedError *float64 `json:"personalized_test_error"`
	Dropped           int      `json:"dropped"`
	RoundSeconds      float64  `json:"round_seconds"`
}

// end is the mean loss of the last rounds.
func (o *outcome) end() float64 {
	tail := o.Losses[max(0, len(o.Losses)-accuracyTail):]
	sum := 0.0
	for _, loss := range tail {
		sum += loss
	}
	return sum / float64(len(tail))
}

// kept returns what a folder keeps of a configuration, or has it made and keeps it.
// Without a folder it is always made.
func kept(folder string, c *config.Config, create func() (*outcome, error)) (*outcome, error) {
	if folder == "" {
		return create()
	}
	text, err := config.Encode(c)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	path := filepath.Join(folder, fmt.Sprintf("%s-%s.json", c.Method, hex.EncodeToString(sum[:6])))
	if have, err := os.ReadFile(path); err == nil {
		x := &outcome{}
		if err := json.Unmarshal(have, x); err != nil {
			return nil, fmt.Errorf("%s is not a result of the suite accuracy; remove it: %w", path, err)
		}
		return x, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	x, err := create()
	if err != nil {
		return nil, err
	}
	if text, err = json.Marshal(x); err != nil {
		return nil, err
	}
	return x, wholefile.Stream(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// Estimate is the mean over seeds, or over differences between seeds' pairs.
type Estimate struct {
	Mean float64 `json:"mean"`
	// Half is half the width of the 90 % confidence interval, see stats.Sample; 0
	// with one seed.
	Half float64 `json:"half,omitempty"`
}

// estimateOf sums up one number a seed.
func estimateOf(xs []float64) Estimate {
	s := stats.Of(xs)
	if s.N < 2 {
		return Estimate{Mean: s.Mean}
	}
	return Estimate{Mean: s.Mean, Half: s.Half}
}

// zero says whether zero is within the interval.
func (e Estimate) zero() bool { return e.Mean-e.Half <= 0 && 0 <= e.Mean+e.Half }

// Accuracy is what a row of the suite accuracy reached.
type Accuracy struct {
	Data   string `json:"data"`
	Seeds  int    `json:"seeds"`
	Rounds int    `json:"rounds"`
	// Curve holds the mean training loss over the seeds, a round each.
	Curve []float64 `json:"curve"`
	// FirstLoss is the training loss of the first round, LastLoss the mean of those
	// of the last.
	FirstLoss float64  `json:"first_loss"`
	LastLoss  Estimate `json:"last_loss"`
	// Measure is what the errors are, as result.Errors has it; reports from before there
	// were others hold shares of examples classified wrongly.
	Measure string `json:"error_measure,omitempty"`
	// Errors on the test examples: of the global and of the personalized models, nil
	// where there are none.
	GlobalError       Estimate  `json:"global_test_error"`
	PersonalizedError *Estimate `json:"personalized_test_error,omitempty"`
	Dropped           int       `json:"dropped,omitempty"` // client results that were not finite
	// Against is how the row differs from that in the first precision.
	Against *Paired `json:"against,omitempty"`
}

// Paired are differences of a precision from another, seed by seed.
type Paired struct {
	LastLoss          Estimate  `json:"last_loss"`
	GlobalError       Estimate  `json:"global_test_error"`
	PersonalizedError *Estimate `json:"personalized_test_error,omitempty"`
}

// accuracyOf sums up the outcomes of all seeds.
func accuracyOf(all []outcome) *Accuracy {
	a := &Accuracy{Data: all[0].Data, Measure: all[0].Measure, Seeds: len(all), Rounds: all[0].Rounds, Curve: make([]float64, len(all[0].Losses))}
	for _, o := range all {
		for i := range min(len(a.Curve), len(o.Losses)) {
			a.Curve[i] += o.Losses[i] / float64(len(all))
		}
		a.Dropped += o.Dropped
	}
	a.FirstLoss = a.Curve[0]
	a.LastLoss = estimateOf(column(all, (*outcome).end))
	a.GlobalError = estimateOf(column(all, func(o *outcome) float64 { return o.GlobalError }))
	a.PersonalizedError = estimateOfAny(personalized(all))
	return a
}

// personalized are the errors of the personalized models, none where an outcome lacks it.
func personalized(all []outcome) []float64 {
	var xs []float64
	for _, o := range all {
		if o.PersonalizedError == nil {
			return nil
		}
		xs = append(xs, *o.PersonalizedError)
	}
	return xs
}

// estimateOfAny sums up one number a seed; nil without any.
func estimateOfAny(xs []float64) *Estimate {
	if len(xs) == 0 {
		return nil
	}
	e := estimateOf(xs)
	return &e
}

// pair fills in the differences of the outcomes from those of the first precision.
func (a *Accuracy) pair(first, all []outcome) {
	differ := func(f func(*outcome) float64) Estimate {
		return estimateOf(differences(column(all, f), column(first, f)))
	}
	a.Against = &Paired{
		LastLoss:    differ((*outcome).end),
		GlobalError: differ(func(o *outcome) float64 { return o.GlobalError }),
	}
	if x, y := personalized(all), personalized(first); len(x) == len(y) {
		a.Against.PersonalizedError = estimateOfAny(differences(x, y))
	}
}

// differences are the differences of two lists, number by number.
func differences(x, y []float64) []float64 {
	var d []float64
	for i := range x {
		d = append(d, x[i]-y[i])
	}
	return d
}

// column takes one number of every outcome.
func column(all []outcome, f func(*outcome) float64) []float64 {
	var xs []float64
	for i := range all {
		xs = append(xs, f(&all[i]))
	}
	return xs
}

// String says it in a cell.
func (a *Accuracy) String() string {
	s := fmt.Sprintf("loss %s to %s, test %s %s", decimals(a.FirstLoss, a.FirstLoss), a.LastLoss.loss(), measures[a.Measure], a.GlobalError.points())
	if e := a.PersonalizedError; e != nil {
		s += ", personalized " + e.points()
	}
	if a.Dropped > 0 {
		s += fmt.Sprintf(", %d results dropped", a.Dropped)
	}
	if d := a.Against; d != nil {
		s += fmt.Sprintf("; differs by %s in loss, %s", d.LastLoss.loss(), d.GlobalError.points())
		if d.PersonalizedError == nil {
			s += " in error"
		} else {
			s += fmt.Sprintf(" and %s in errors", d.PersonalizedError.points())
		}
		if !d.LastLoss.zero() || !d.GlobalError.zero() || d.PersonalizedError != nil && !d.PersonalizedError.zero() {
			s += " (significant)"
		}
	}
	return s
}

// measures are the errors of result.Errors.Measure in words.
var measures = map[string]string{"": "error", result.MeasureRecall: result.MeasureRecall}

// loss writes an estimate of a number that is no share, or of a difference of such.
func (e Estimate) loss() string {
	if e.Half == 0 {
		return decimals(e.Mean, e.Mean)
	}
	size := max(math.Abs(e.Mean), e.Half)
	return decimals(e.Mean, size) + " ± " + decimals(e.Half, size)
}

// decimals writes a number with three decimals, and one more for each zero with which
// those of a size begin.
func decimals(x, size float64) string {
	n := 3
	for s := math.Abs(size); s > 0 && s < 0.1 && n < 6; s *= 10 {
		n++
	}
	return strconv.FormatFloat(x, 'f', n, 64)
}

// points writes the estimate of an error, or of a difference of errors.
func (e Estimate) points() string {
	if e.Half == 0 {
		return percent(e.Mean)
	}
	return fmt.Sprintf("%.1f ± %.1f %%", 100*e.Mean, 100*e.Half)
}
