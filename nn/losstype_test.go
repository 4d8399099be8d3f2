package nn

import (
	"errors"
	"strings"
	"testing"
)

// margin is a loss of a module of one's own: how much less a label's output is than one
// above the largest other one.
var margin = LossType{
	Name: "margin", Doc: "multi-class hinge",
	Options: marginOptions{Gap: 1},
	Check: func(l *Loss) error {
		if l.Options.(marginOptions).Gap <= 0 {
			return errors.New("gap: must be above 0")
		}
		return nil
	},
	Label: func(l *Loss, z []float32, label int, grad []float32, scale float64) (loss, weight float64) {
		other := -1
		for j, x := range z {
			if j != label && (other < 0 || x > z[other]) {
				other = j
			}
		}
		clear(grad)
		loss = l.Options.(marginOptions).Gap + float64(z[other]) - float64(z[label])
		if loss <= 0 {
			return 0, 1
		}
		if grad != nil {
			grad[other], grad[label] = float32(scale), float32(-scale)
		}
		return loss, 1
	},
}

type marginOptions struct {
	Gap float64 `toml:"gap" in:"(0, inf)" doc:"distance of the outputs from which on nothing is lost"`
}

// TestRegisterLoss trains by a loss of one's own, and refuses invalid losses and
// what one does not have.
func TestRegisterLoss(t *testing.T) {
	if err := RegisterLoss(margin); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lossTypes.all = lossTypes.all[:len(lossTypes.all)-1] })
	for _, tt := range []struct {
		change func(l *LossType)
		want   string
	}{
		{func(*LossType) {}, `nn: loss "margin": the name is taken; choose another one`},
		{func(l *LossType) { l.Name = "a loss" }, `nn: loss "a loss": a name must be lower-case`},
		{func(l *LossType) { l.Name, l.Doc = "other", "two\nlines" }, `nn: loss "other": Doc must be a line`},
		{func(l *LossType) { l.Name, l.Label = "other", nil }, `nn: loss "other": a loss of one label has Label`},
		{func(l *LossType) { l.Name, l.Target = "other", Numbers }, `nn: loss "other": a loss of one label has Label`},
		{func(l *LossType) { l.Name, l.Options = "other", 1 }, `nn: loss "other": options are a int`},
	} {
		l := margin
		tt.change(&l)
		if err := RegisterLoss(l); err == nil || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	m := dropoutNet(t)
	for want, l := range map[string]Loss{
		`label smoothing 0.1: the loss "margin" smooths no labels; leave it out`: {Kind: "margin", Smoothing: 0.1},
		`class weights: the loss "margin" has none; leave them out`: {
			Kind:    "margin",
			Weights: make([]float64, m.Classes()),
		},
		`options of type int: the loss "margin" has nn.marginOptions`: {Kind: "margin", Options: 3},
		`gap: must be above 0`: {Kind: "margin", Options: marginOptions{}},
	} {
		if _, err := m.WithLoss(l); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	m, err := m.WithLoss(Loss{Kind: "margin"})
	if err != nil {
		t.Fatal(err)
	}
	ws, b, w := m.NewWorkspace(), images(m, 9), m.NewParams()
	m.Init(w, 1)
	before := ws.Evaluate(w, b)
	opt := &Optimizer{SGD: SGD{LR: 0.1}}
	if n := allocations(100, func() { ws.Step(w, b, TrainOpts{}, opt) }); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
	after := ws.Evaluate(w, b)
	if !(after.Mean() < before.Mean()/2) || after.Count != before.Count || after.Correct <= before.Correct {
		t.Errorf("before %+v, after 101 steps %+v", before, after)
	}
}
