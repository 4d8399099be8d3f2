package methods

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/fltest"
)

// odd is FedAvg with a name and uses of its own.
type odd struct {
	FedAvg
	name string
	uses []fl.Use
}

func (m odd) Name() string { return m.name }

func (m odd) Uses() []fl.Use { return m.uses }

// TestRegisterRefuses wants one line that says what is wrong with a method.
func TestRegisterRefuses(t *testing.T) {
	sgd := fl.UsingSGD()
	for _, tt := range []struct {
		m    fl.Method
		want string
	}{
		{nil, "nil method"},
		{odd{name: "fedavg", uses: sgd}, `method "fedavg" (methods.odd): the name is taken by methods.FedAvg`},
		{odd{name: "My Method", uses: sgd}, "a name must be lower-case letters"},
		{odd{name: "mine", uses: fl.Using("client.speed")}, "uses client.speed, which is no hyperparameter"},
		{odd{name: "mine", uses: fl.Using("client.lr", "client.lr")}, "uses client.lr twice"},
		{odd{name: "mine", uses: fl.Needing("client.mu", "(0, inf)", "such as 1")}, "refuses its own defaults: client.mu = 0"},
	} {
		if err := fl.Register(tt.m); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

// TestPlansBegin: what a plan leaves out is the method's default, and parameters
// that never were filled are refused.
func TestPlansBegin(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	e := newEngine(t, fl.Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: ditto{}, Cohort: 2})
	if r := runRounds(t, e.NewTrial(0), fl.Plan{}, 1)[0]; r.Slots[0].Params.Lambda != 0.1 || r.Slots[0].Params.Dropout != fl.OwnDropout {
		t.Errorf("the zero plan trains with %+v", r.Slots[0].Params)
	}
	plan := fl.Plan{Clients: []fl.ClientParams{{LR: 0.1, Epochs: 1, Batch: 10}}}
	if _, err := e.NewTrial(0).Round(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "take those of fl.Defaults") {
		t.Errorf("hyperparameters without defaults: error %v", err)
	}
	if _, err := fl.New(fl.Config{Model: e.Model(), Data: &data.Federation{}, Cohort: 1}); err == nil || !strings.Contains(err.Error(), "needs a Method") {
		t.Errorf("an engine without a method: error %v", err)
	}
}
