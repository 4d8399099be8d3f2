package methods

import (
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
)

// stiff is a ReLU that takes no tangents along, as layers of others may not.
type stiff struct{ nn.ReLU }

func (stiff) Kind() string { return "stiff" }

func (l stiff) Bind(in nn.Flow) (nn.Bound, error) {
	b, err := l.ReLU.Bind(in)
	return boundStiff{b}, err
}

type boundStiff struct{ nn.Bound }

func (b boundStiff) Traits() nn.Traits {
	t := b.Bound.Traits()
	t.Tangents = false
	return t
}

// TestFirstOrderNeedsNoTangents trains a model without products with its Hessian by
// meta-gradients of the first order, and refuses it to others in one line.
func TestFirstOrderNeedsNoTangents(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 6, 20)
	model, err := nn.NewModel("stiff", nn.Shape{H: fed.H, W: fed.W, C: fed.C}, fed.Classes,
		nn.Conv2D{Filters: 8, Kernel: 7, Stride: 7}, stiff{}, nn.Dense{Units: fed.Classes})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []fl.Method{maml(), perFedAvg()} {
		e, err := fl.New(fl.Config{Model: model, Data: fed, Method: m, Cohort: 3, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		trial, p := e.NewTrial(0), defaultPlan(m)
		before := model.SHA256(trial.Weights())
		want := `round 0: method "` + m.Name +
			`": model stiff: layers of type stiff do not support products with the Hessian; client.first_order = true leaves them out`
		if _, err = trial.Round(t.Context(), p); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		p.Clients[0].FirstOrder = true
		if _, err = trial.Round(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if model.SHA256(trial.Weights()) == before {
			t.Errorf("%s moved no weight", m.Name)
		}
	}
}
