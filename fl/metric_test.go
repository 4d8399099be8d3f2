package fl

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// pairs is a federation of vectors of three values with two numbers of different sizes
// to predict.
func pairs(clients, examples int) *data.Federation {
	s := kernels.NewStream(4, 0)
	view := func(n int) data.View {
		x, y := make([]float32, 3*n), make([]float32, 2*n)
		for i := range n {
			for k := range 3 {
				x[3*i+k] = float32(s.NormFloat64())
			}
			y[2*i] = x[3*i] + float32(0.5*s.NormFloat64())
			y[2*i+1] = 30*x[3*i+1] - 7 + float32(40*s.NormFloat64())
		}
		return data.NumbersView(data.VectorView(3, x, make([]int32, n)), 2, y)
	}
	fed := &data.Federation{Name: "pairs", H: 1, W: 1, C: 3, Classes: 2, Target: data.Numbers}
	for i := range clients {
		fed.Clients = append(fed.Clients, data.Client{
			ID: string(rune('a' + i)), Train: view(examples),
			Val: view(3 + i), Test: view(70 + 9*i),
		})
	}
	return fed
}

// line is a linear model of them.
func line(t *testing.T) *nn.Model {
	t.Helper()
	m, err := nn.NewModel("line", nn.Shape{H: 1, W: 1, C: 3}, 2, nn.Dense{Units: 2})
	if err == nil {
		m, err = m.WithLoss(nn.Loss{Kind: nn.Squared})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestR2OfSeveralOutputs compares R2 with that of scikit-learn's r2_score, by its
// definition: of all examples, sums of squares around the model and around the mean of
// an output, and the mean over the outputs.
func TestR2OfSeveralOutputs(t *testing.T) {
	fed, m := pairs(5, 20), line(t)
	var first *Evaluation
	for _, workers := range []int{1, 3} {
		e := newEngine(t, Config{Method: average(), Model: m, Data: fed, Cohort: 3, Seed: 1, Workers: workers})
		tr := e.NewTrial(1)
		c := hyper.DefaultClient()
		c.LR, c.Epochs = 0.05, 20
		if _, err := tr.Round(t.Context(), Plan{Clients: []ClientParams{c}}); err != nil {
			t.Fatal(err)
		}
		var outputs, targets [2][]float64
		if err := e.Predict(t.Context(), tr.Weights(), []string{"test"}, func(p Predictions) error {
			for i, y := range p.Targets {
				outputs[i%2], targets[i%2] = append(outputs[i%2], float64(p.Outputs[i])), append(targets[i%2], float64(y))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var want float64
		for k := range 2 {
			var mean, model, around float64
			for _, y := range targets[k] {
				mean += y / float64(len(targets[k]))
			}
			for i, y := range targets[k] {
				model += (outputs[k][i] - y) * (outputs[k][i] - y)
				around += (y - mean) * (y - mean)
			}
			want += (1 - model/around) / 2
		}
		got, err := e.Evaluate(t.Context(), tr.Weights(), EvalConfig{Clients: []ClientParams{c}})
		if err != nil {
			t.Fatal(err)
		}
		if r2 := got.GlobalTest.R2; r2 == nil || !(math.Abs(*r2-want) < 1e-9) || !(want > 0.2) {
			t.Fatalf("R2 %v, want %v", r2, want)
		}
		if r2 := got.GlobalTest.Metric(tuners.MetricR2); r2 != *got.GlobalTest.R2 {
			t.Errorf("as a metric it is %v", r2)
		}
		if first == nil {
			first = got
		}
		if !reflect.DeepEqual(got, first) {
			t.Errorf("%d workers: %+v, want %+v", workers, got, first)
		}
	}
}

// TestOutputsTravel has a part of a round and the scores of clients keep what each of
// several outputs came to.
func TestOutputsTravel(t *testing.T) {
	score := Score{Error: 1, Fit: Fit{MSE: 1, Outputs: []Fit{{MSE: 1, Mean: 2, Square: 3}, {MSE: 4, Mean: 5, Square: 6}}}}
	var p, s bytes.Buffer
	sent := &part{Sum: []float32{1}, Slots: []Slot{{Client: 4, After: score}, {Client: 5}}}
	scores := []clientScores{{globalVal: setScore{Score: score, n: 3}}, {}}
	if err := sent.writeTo(&p); err != nil {
		t.Fatal(err)
	}
	if err := writeScores(&s, scores); err != nil {
		t.Fatal(err)
	}
	if got, err := readPart(&p); err != nil || !reflect.DeepEqual(got.Slots, sent.Slots) {
		t.Errorf("%+v arrived: %v", got, err)
	}
	if got, err := readScores(&s); err != nil || !reflect.DeepEqual(got, scores) {
		t.Errorf("%+v arrived: %v", got, err)
	}
}

// TestTargetsThatDoNotDiffer: the mean of equal numbers is rounded, and what that leaves of
// their variance is 0.
func TestTargetsThatDoNotDiffer(t *testing.T) {
	x := float64(float32(0.3))
	square := math.Nextafter(x*x, 1)
	if s := (Fit{MSE: 0.25, Mean: x, Square: square}); s.Variance() != 0 || s.r2() != 0 {
		t.Errorf("variance %v, R2 %v, want 0 and 0", s.Variance(), s.r2())
	}
	if s := (Fit{MSE: 0.25, Mean: 1, Square: 2}); s.Variance() != 1 || s.r2() != 0.75 {
		t.Errorf("variance %v, R2 %v, want 1 and 0.75", s.Variance(), s.r2())
	}
}
