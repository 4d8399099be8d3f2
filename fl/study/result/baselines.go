package result

import (
	"math"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// mostListed is up to how many clients a comparison lists them.
const mostListed = 20

// Comparand is one of the models that a comparison without federation has: "local", which each client trained
// alone, the returned model as it is, "federated", or "personalized", and "pooled", which was trained on all samples.
type Comparand struct {
	Name string `json:"name"`
	// Settings says of a baseline whether it was trained with the values that were "tuned" for the federation or
	// with those of the "file"; Params are those.
	Settings string        `json:"settings,omitempty"`
	Params   tuners.Params `json:"params,omitempty"`
	// Test is the test error, ROCAUC the mean of the clients' ROC AUC, since the scores of different models
	// cannot be pooled; nil where it is undefined.
	Test   float64  `json:"test_error"`
	ROCAUC *float64 `json:"roc_auc,omitempty"`
	// OverLocal and OverFederated compare it with these two, nil with itself and with what is not there.
	OverLocal     *Gain `json:"over_local,omitempty"`
	OverFederated *Gain `json:"over_federated,omitempty"`
	// Clients are the test errors and ROC AUCs of the single clients, of at most 20.
	Clients []ClientTest `json:"clients,omitempty"`

	errors []float64
}

// ClientTest is what one client's test samples measured.
type ClientTest struct {
	Client  string   `json:"client"`
	Samples int      `json:"samples"`
	Test    float64  `json:"test_error"`
	ROCAUC  *float64 `json:"roc_auc,omitempty"`
}

// Gain is by how much a test error is lower than another one, over clients each paired with itself.
type Gain struct {
	Gain float64 `json:"gain"`
	// Half is half the width of the 90 % interval, nil of one client.
	Half *float64 `json:"gain_half,omitempty"`
	// Better is how many of Clients have a lower error.
	Better  int `json:"clients_better"`
	Clients int `json:"clients"`
}

// Without compares the model of an evaluation with baselines without federation, with those settings of each
// that have the lower validation loss.
func Without(e *fl.Evaluation, baselines []*record.Alone) (all []Comparand) {
	c := record.ClientsOf(e.Clients)
	clients := c.Errors()
	add := func(m Comparand, s *fl.Summary, clients []fl.ClientError, personal bool) {
		if s.Clients == 0 {
			return
		}
		m.Test = s.Error
		if s.Measures != nil {
			m.ROCAUC = s.Measures.Values[tuners.MetricROCAUC].ClientMean
		}
		for _, c := range clients {
			t := ClientTest{c.Name, c.Samples, c.Global, c.GlobalAUC}
			if personal {
				t.Test, t.ROCAUC = c.Personalized, c.PersonalizedAUC
			}
			if m.errors = append(m.errors, t.Test); len(clients) <= mostListed {
				m.Clients = append(m.Clients, t)
			}
		}
		for i := range all {
			switch gain := gainOver(&all[i], &m, clients); all[i].Name {
			case config.BaselineLocal:
				m.OverLocal = gain
			case "federated":
				m.OverFederated = gain
			}
		}
		all = append(all, m)
	}
	best := func(name string) {
		var of *record.Alone
		for _, b := range baselines {
			if b.Name == name && (of == nil || b.Val < of.Val) {
				of = b
			}
		}
		if of != nil {
			m := Comparand{Name: name, Settings: of.Settings, Params: of.Params}
			add(m, &of.Test, of.Clients.Errors(), name == config.BaselineLocal)
		}
	}
	best(config.BaselineLocal)
	add(Comparand{Name: "federated"}, &e.GlobalTest, clients, false)
	add(Comparand{Name: "personalized"}, &e.PersonalizedTest, clients, true)
	best(config.BaselinePooled)
	for i := range all {
		all[i].errors = nil // as in a result that is read again
	}
	return all
}

// gainOver is the gain of a model over another one on the same clients, nil where they have others.
func gainOver(was, now *Comparand, clients []fl.ClientError) *Gain {
	if len(was.errors) != len(now.errors) {
		return nil
	}
	g := &Gain{Gain: was.Test - now.Test}
	var differences []float64
	for i := range was.errors {
		d := was.errors[i] - now.errors[i]
		if differences = append(differences, d); d > 0 {
			g.Better++
		}
		if !math.IsNaN(d) {
			g.Clients++
		}
	}
	g.Half = pairedHalf(clients, differences, g.Gain)
	return g
}

// pairedHalf is half the width of the interval of a gain over clients, by the differences of each, with their
// numbers of samples as weights, as Summary.StdErr has them; nil for fewer than two clients that have one.
func pairedHalf(clients []fl.ClientError, differences []float64, gain float64) *float64 {
	n, samples, squares := 0, 0, 0.0
	for i, c := range clients {
		if d := differences[i] - gain; !math.IsNaN(d) {
			n, samples = n+1, samples+c.Samples
			x := float64(c.Samples) * d
			squares += float64(x * x)
		}
	}
	if n < 2 {
		return nil
	}
	return new(stats.Student(float64(n-1)) * math.Sqrt(squares*float64(n)/float64(n-1)) / float64(samples))
}
