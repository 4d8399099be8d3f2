package fl

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/limit"
	"github.com/fedfast/fedfast/fl/internal/measure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// Fit is how near a regression comes: means over the targets, unweighted. It is zero
// for other losses.
type Fit struct {
	// MSE and MAE are the mean squared and the mean absolute error.
	MSE, MAE float64
	// Mean and Square are the means of the targets and of their squares.
	Mean, Square float64
	// Outputs are the outputs of each output where there are several.
	Outputs []Fit
}

// RMSE returns the root of the mean squared error.
func (f Fit) RMSE() float64 { return math.Sqrt(f.MSE) }

// R2 returns the coefficient of determination, 1 - MSE / variance of the targets, and 0
// where these do not differ. Of several outputs it is the mean over them, the
// "uniform_average" of scikit-learn.
func (f Fit) R2() float64 {
	if len(f.Outputs) == 0 {
		return f.r2()
	}
	var sum float64
	for _, s := range f.Outputs {
		sum += s.r2()
	}
	return sum / float64(len(f.Outputs))
}

// r2 is the R2 of one output.
func (f Fit) r2() float64 {
	variance := f.Variance()
	if variance == 0 {
		return 0
	}
	return 1 - f.MSE/variance
}

// Variance is the variance of the targets of one output. It is 0 where a millionth of their size or less is
// between them, which may be rounding: targets are float32.
func (f Fit) Variance() float64 {
	if v := f.Square - float64(f.Mean*f.Mean); v > 1e-12*f.Square {
		return v
	}
	return 0
}

// zero says that there is no regression.
func (f Fit) zero() bool { return f.MSE == 0 && f.MAE == 0 && f.Mean == 0 && f.Square == 0 }

// Score is a model measured on one set of examples.
type Score struct {
	// Error is what a model is judged by first, the lower the better: the share of
	// examples classified wrongly; with several labels the share of labels that are
	// not among the outputs that count, 1 - recall; of a regression the root of the
	// mean squared error. Loss is the mean loss, at most 1e6 unless it is the loss of
	// a regression. Both are NaN without examples; a model whose loss is not
	// a number has error 1, as a regression divergedFit.
	Error float64 `json:"error"`
	Loss  float64 `json:"loss"`
	// Fit is the fit of a regression.
	Fit Fit `json:"-"`
	// Answers are those about the examples, where measures are asked for.
	Answers measure.Answers `json:"-"`

	answers []measure.Answers // of several clients
	silent  float64           // share of the weight of those that gave none
	clients []float64         // errors of the clients behind the score of a round
}

// divergedFit stands for the error of a regression that is not finite or higher; its
// square is the loss then.
const divergedFit = limit.DivergedFit

// lostSquares stands for the mean squared error of outputs that are not finite: far above that
// of predicting 0, whatever the targets are.
func lostSquares(square float64) float64 { return max(divergedFit*divergedFit, 1e4*square) }

// lost says that the outputs of some example were not finite.
func (f Fit) lost() bool { return f.MAE == divergedFit && f.MSE == lostSquares(f.Square) }

// capped is the root of the mean squared error, at most divergedFit.
func (f Fit) capped() float64 { return min(f.RMSE(), divergedFit) }

// outcome is what an evaluation measured.
type outcome struct {
	nn.Result
	outputs []nn.Fit // of each output of a regression that has several
}

// add adds what the outputs of a batch were.
func (o *outcome) add(b *nn.Batch) {
	n := len(o.outputs)
	for i, z := range b.Outputs {
		d, t, f := float64(z)-float64(b.Targets[i]), float64(b.Targets[i]), &o.outputs[i%n]
		f.Squares += float64(d * d)
		f.Sum += t
		f.SquareSum += float64(t * t)
		f.Count++
	}
}

// several returns the number of outputs of a model of a regression that has more than
// one, else 0.
func several(m *nn.Model) int {
	if n := m.Classes(); n > 1 && m.Loss().Numbers() {
		return n
	}
	return 0
}

func scoreOf(r outcome) Score {
	if r.Fit.Count > 0 {
		return fitOf(r)
	}
	s := Score{Error: float64(r.Count-r.Correct) / float64(r.Count), Loss: r.Mean()}
	if of := r.Recall; of.Examples > 0 { // without any label none is missed
		s.Error = float64(of.Labels-of.Found) / float64(max(1, of.Labels))
	}
	if r.Count > 0 && math.IsNaN(s.Loss) { // what was the largest logit says nothing then
		s.Error = 1
	}
	if r.Count > 0 && !(s.Loss < limit.DivergedLoss) {
		s.Loss = limit.DivergedLoss
	}
	return s
}

// fitOf is the score of a regression.
func fitOf(r outcome) Score {
	n := float64(r.Fit.Count)
	s := Score{Loss: r.Mean(), Fit: Fit{MSE: r.Fit.Squares / n, MAE: r.Fit.Distances / n, Mean: r.Fit.Sum / n, Square: r.Fit.SquareSum / n}}
	if !(s.Loss < divergedFit*divergedFit) {
		s.Loss = divergedFit * divergedFit
	}
	s.Fit.MAE = min(s.Fit.MAE, divergedFit)
	if !(s.Fit.MSE <= math.MaxFloat64) {
		s.Fit.MSE, s.Fit.MAE, s.Loss = lostSquares(s.Fit.Square), divergedFit, divergedFit*divergedFit
	}
	for _, f := range r.outputs {
		n := float64(f.Count)
		o := Fit{MSE: f.Squares / n, Mean: f.Sum / n, Square: f.SquareSum / n}
		if !(o.MSE <= math.MaxFloat64) {
			o.MSE = lostSquares(o.Square)
		}
		s.Fit.Outputs = append(s.Fit.Outputs, o)
	}
	s.Error = s.Fit.capped()
	return s
}

// unscored is the score where nobody asked for one.
func unscored() Score { return Score{Error: math.NaN(), Loss: math.NaN()} }

// WorstScore is the score of hyperparameters that train nobody: of a loss that is about numbers, or not.
func WorstScore(numbers bool) Score {
	if numbers {
		return Score{Error: divergedFit, Loss: divergedFit * divergedFit, Fit: Fit{MSE: divergedFit * divergedFit, MAE: divergedFit, Square: 1}}
	}
	return Score{Error: 1, Loss: limit.DivergedLoss}
}

// checkLoss compares the model's loss with what there is to predict.
func checkLoss(m *nn.Model, d *data.Federation) error {
	target := map[data.Target]nn.Target{data.ManyLabels: nn.ManyLabels, data.Numbers: nn.Numbers}[d.Target]
	if m.Loss().Target() != target {
		names := list.Of(nn.LossTypes(target), func(t nn.LossType) string { return string(t.Name) })
		kind := cmp.Or(m.Loss().Kind, nn.CrossEntropy)
		return fmt.Errorf("loss.name = %q: data %s has a target of %s, which needs %s", kind, d.Name, d.Target, strings.Join(names, " or "))
	}
	if d.Target != data.OneClass && m.Classes() != d.Classes {
		return fmt.Errorf("model %s has %d outputs, data %s %d %s to predict", m.Name(), m.Classes(), d.Name, d.Classes, d.Target)
	}
	return nil
}

// Metric returns the score in a metric of package tuners, NaN for an unknown one.
func (s Score) Metric(name string) float64 {
	switch name {
	case "", tuners.MetricError, tuners.MetricRMSE:
		return s.Error
	case tuners.MetricAccuracy, tuners.MetricRecall:
		return 1 - s.Error
	case tuners.MetricLoss:
		return s.Loss
	case tuners.MetricErrorP90, tuners.MetricErrorWorst, tuners.MetricErrorVariance, tuners.MetricJain:
		return s.among(name)
	case tuners.MetricMAE:
		return s.Fit.MAE
	case tuners.MetricR2:
		return s.Fit.R2()
	}
	if tuners.OfAnswers(name) {
		return s.measured(name)
	}
	return math.NaN()
}

// measured returns a metric of the answers behind a score, NaN where it is undefined. Clients that gave
// none, since they were dropped, count as the worst that there is.
func (s Score) measured(name string) float64 {
	all, worst := s.answers, 0.0
	if name == tuners.MetricLogLoss {
		worst = limit.DivergedLoss
	}
	if s.Answers != nil {
		all = []measure.Answers{s.Answers}
	}
	if len(all) == 0 && s.Loss == limit.DivergedLoss {
		return worst
	}
	return float64(measure.Get(name, all)*(1-s.silent)) + float64(worst*s.silent)
}

// among returns how a metric describes the errors of the clients behind a score, NaN
// without any.
func (s Score) among(name string) float64 {
	if len(s.clients) == 0 {
		return math.NaN()
	}
	rates := slices.Sorted(slices.Values(s.clients))
	if name == tuners.MetricErrorP90 {
		return stat.Quantile(0.9, stat.Empirical, rates, nil)
	}
	worst, variance, jain := evenness(rates, stat.Mean(rates, nil))
	switch name {
	case tuners.MetricErrorWorst:
		return worst
	case tuners.MetricErrorVariance:
		return variance
	}
	return jain
}

// scoreMean is the mean of scores, weighted. That of a regression is the score of
// all its examples.
type scoreMean struct {
	sum              Score
	weight, answered float64
}

// add adds a score with its weight.
func (m *scoreMean) add(s Score, n float64) {
	m.sum.Error += float64(s.Error * n)
	m.sum.Loss += float64(s.Loss * n)
	if f := &m.sum.Fit; !s.Fit.zero() {
		f.MSE += float64(s.Fit.MSE * n)
		f.MAE += float64(s.Fit.MAE * n)
		f.Mean += float64(s.Fit.Mean * n)
		f.Square += float64(s.Fit.Square * n)
		if f.Outputs == nil {
			f.Outputs = make([]Fit, len(s.Fit.Outputs))
		}
		for i, o := range s.Fit.Outputs {
			to := &f.Outputs[i]
			to.MSE += float64(o.MSE * n)
			to.Mean += float64(o.Mean * n)
			to.Square += float64(o.Square * n)
		}
	}
	if m.weight += n; s.Answers != nil {
		m.sum.answers = append(m.sum.answers, s.Answers)
		m.answered += n
	}
}

// mean returns the mean, NaN of no scores.
func (m *scoreMean) mean() Score {
	s := Score{Error: m.sum.Error / m.weight, Loss: m.sum.Loss / m.weight}
	if s.answers = m.sum.answers; s.answers != nil {
		s.silent = 1 - m.answered/m.weight
	}
	if f := m.sum.Fit; !f.zero() {
		s.Fit = Fit{MSE: f.MSE / m.weight, MAE: f.MAE / m.weight, Mean: f.Mean / m.weight, Square: f.Square / m.weight}
		for _, o := range f.Outputs {
			s.Fit.Outputs = append(s.Fit.Outputs, Fit{MSE: o.MSE / m.weight, Mean: o.Mean / m.weight, Square: o.Square / m.weight})
		}
		s.Error = s.Fit.capped()
	}
	return s
}
