package methods

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/test/fltest"
)

// TestRegisterRefuses wants one line that says what is wrong with a method.
func TestRegisterRefuses(t *testing.T) {
	for want, change := range map[string]func(m *fl.Method){
		"a Method needs a Name":                         func(m *fl.Method) { m.Name = "" },
		`method "mine" has no Local`:                    func(m *fl.Method) { m.Local = nil },
		`method "mine" must have either NewServer or`:   func(m *fl.Method) { m.NewServer = nil },
		`method "mine" must have both NewSender and`:    func(m *fl.Method) { m.SenderLen = fedTP().SenderLen },
		`method "mine" must have both Subnet and`:       func(m *fl.Method) { m.Subnet = supernet().Subnet },
		`method "mine": Doc must be a line`:             func(m *fl.Method) { m.Doc = "two\nlines" },
		`Synchronous and Whole must each be a line`:     func(m *fl.Method) { m.Differs = "two\nlines" },
		`method "fedavg": the name is taken`:            func(m *fl.Method) { m.Name = "fedavg" },
		"a name must be lower-case letters":             func(m *fl.Method) { m.Name = "My Method" },
		"uses client.speed, which is no hyperparameter": func(m *fl.Method) { m.Uses = hyper.Using("client.speed") },
		"uses client.lr twice": func(m *fl.Method) {
			m.Uses = hyper.Using("client.lr",
				"client.lr")
		},
		"with its own defaults: client.mu = 0": func(m *fl.Method) {
			m.Uses = hyper.Needing("client.mu", "(0, inf)",
				"such as 1")
		},
	} {
		m := FedAvg()
		m.Name = "mine"
		change(&m)
		if err := fl.Register(m); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestPlansBegin: what a plan leaves out is the method's default, and parameters
// that never were filled are refused.
func TestPlansBegin(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 12, 30)
	e := newEngine(t, fl.Config{Model: fltest.SmallCNN(t, fed), Data: fed, Method: ditto(), Cohort: 2})
	if r := runRounds(t, e.NewTrial(0), fl.Plan{}, 1)[0]; r.Slots[0].Params.Lambda != 0.1 ||
		r.Slots[0].Params.Dropout != hyper.OwnDropout {
		t.Errorf("the zero plan trains with %+v", r.Slots[0].Params)
	}
	plan := fl.Plan{Clients: []fl.ClientParams{{LR: 0.1, Epochs: 1, Batch: 10}}}
	if _, err := e.NewTrial(0).Round(t.Context(), plan); err == nil || !strings.Contains(err.Error(),
		"must start from fl.Method.Defaults") {
		t.Errorf("hyperparameters without defaults: error %v", err)
	}
	if _, err := fl.New(fl.Config{Model: e.Model(), Data: &data.Federation{}, Cohort: 1}); err == nil ||
		!strings.Contains(err.Error(), "needs a Method") {
		t.Errorf("an engine without a method: error %v", err)
	}
}
