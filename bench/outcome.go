package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/bench/stats"
	"github.com/fedfast/fedfast/data/sys/wholefile"
	"github.com/fedfast/fedfast/fl/study/config"
)

// outcome is what one training came to, from one seed in one precision.
type outcome struct {
	Data              string    `json:"data"`
	Batch             int       `json:"batch"`
	Rounds            int       `json:"rounds"`
	Examples          int       `json:"examples"`
	Losses            []float64 `json:"losses"` // of training, a round each
	GlobalError       float64   `json:"global_test_error"`
	PersonalizedError float64   `json:"personalized_test_error"`
	Dropped           int       `json:"dropped"`
	RoundSeconds      float64   `json:"round_seconds"`
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
func kept[T any](folder string, c *config.Config, create func() (*T, error)) (*T, error) {
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
		x := new(T)
		if err := json.Unmarshal(have, x); err != nil {
			return nil, fmt.Errorf("%s is no result of the suite accuracy; remove it: %w", path, err)
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

// estimate sums up one number a seed.
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
	// Errors on the test examples: of the global and of the personalized models.
	GlobalError       Estimate `json:"global_test_error"`
	PersonalizedError Estimate `json:"personalized_test_error"`
	Dropped           int      `json:"dropped,omitempty"` // client results that were not finite
	// Against is how the row differs from that in the first precision.
	Against *Paired `json:"against,omitempty"`
}

// Paired are differences of a precision from another, seed by seed.
type Paired struct {
	LastLoss          Estimate `json:"last_loss"`
	GlobalError       Estimate `json:"global_test_error"`
	PersonalizedError Estimate `json:"personalized_test_error"`
}

// accuracyOf sums up the outcomes of all seeds.
func accuracyOf(all []outcome) *Accuracy {
	a := &Accuracy{Data: all[0].Data, Seeds: len(all), Rounds: all[0].Rounds, Curve: make([]float64, len(all[0].Losses))}
	for _, o := range all {
		for i := range min(len(a.Curve), len(o.Losses)) {
			a.Curve[i] += o.Losses[i] / float64(len(all))
		}
		a.Dropped += o.Dropped
	}
	a.FirstLoss = a.Curve[0]
	a.LastLoss = estimateOf(column(all, (*outcome).end))
	a.GlobalError = estimateOf(column(all, func(o *outcome) float64 { return o.GlobalError }))
	a.PersonalizedError = estimateOf(column(all, func(o *outcome) float64 { return o.PersonalizedError }))
	return a
}

// pair fills in the differences of the outcomes from those of the first precision.
func (a *Accuracy) pair(first, all []outcome) {
	differ := func(f func(*outcome) float64) Estimate {
		x, y := column(all, f), column(first, f)
		for i := range x {
			x[i] -= y[i]
		}
		return estimateOf(x)
	}
	a.Against = &Paired{
		LastLoss:          differ((*outcome).end),
		GlobalError:       differ(func(o *outcome) float64 { return o.GlobalError }),
		PersonalizedError: differ(func(o *outcome) float64 { return o.PersonalizedError }),
	}
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
	s := fmt.Sprintf("loss %.3f to %s, test error %s, personalized %s", a.FirstLoss, a.LastLoss.loss(), a.GlobalError.points(), a.PersonalizedError.points())
	if a.Dropped > 0 {
		s += fmt.Sprintf(", %d results dropped", a.Dropped)
	}
	if d := a.Against; d != nil {
		s += fmt.Sprintf("; differs by %s in loss, %s and %s in errors", d.LastLoss.loss(), d.GlobalError.points(), d.PersonalizedError.points())
		if !d.LastLoss.zero() || !d.GlobalError.zero() || !d.PersonalizedError.zero() {
			s += " (beyond chance)"
		}
	}
	return s
}

// loss writes the estimate of a loss, or of a difference of losses.
func (e Estimate) loss() string {
	if e.Half == 0 {
		return fmt.Sprintf("%.3f", e.Mean)
	}
	return fmt.Sprintf("%.3f ± %.3f", e.Mean, e.Half)
}

// points writes the estimate of an error, or of a difference of errors.
func (e Estimate) points() string {
	if e.Half == 0 {
		return percent(e.Mean)
	}
	return fmt.Sprintf("%.1f ± %.1f %%", 100*e.Mean, 100*e.Half)
}
