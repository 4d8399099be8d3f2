package result

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/measure"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/list"
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
	// cannot be pooled; nil where it is undefined. Of several seeds they are means, and the others half the widths of
	// their 90 % intervals; nil of one.
	Test       float64  `json:"test_error"`
	TestHalf   *float64 `json:"test_half,omitempty"`
	ROCAUC     *float64 `json:"roc_auc,omitempty"`
	ROCAUCHalf *float64 `json:"roc_auc_half,omitempty"`
	// OverLocal and OverFederated compare it with these two, nil with itself and with what is not there.
	OverLocal     *Gain `json:"over_local,omitempty"`
	OverFederated *Gain `json:"over_federated,omitempty"`
	// ROCAUCOverLocal is by how much the mean ROC AUC of the clients that have both classes is higher.
	ROCAUCOverLocal *Gain `json:"roc_auc_over_local,omitempty"`
	// Clients are the test errors and ROC AUCs of the single clients, of at most 20.
	Clients []ClientTest `json:"clients,omitempty"`

	errors, aucs []float64 // of the clients, NaN for none
}

// ClientTest is what one client's test samples measured.
type ClientTest struct {
	Client  string   `json:"client"`
	Samples int      `json:"samples"`
	Test    float64  `json:"test_error"`
	ROCAUC  *float64 `json:"roc_auc,omitempty"`
}

// Gain is by how much a test error is lower than another one, over clients each paired with itself, or over seeds.
type Gain struct {
	Gain float64 `json:"gain"`
	// Half is half the width of the 90 % interval, nil of one client or seed.
	Half *float64 `json:"gain_half,omitempty"`
	// Better is how many of Clients have a lower error, those of all Seeds.
	Better  int `json:"clients_better"`
	Clients int `json:"clients"`
	Seeds   int `json:"seeds,omitempty"`
}

// Sign is -1 or 1 for an error that is higher or lower, and 0 where that may be chance.
func (g *Gain) Sign() int {
	if g.Half == nil || math.Abs(g.Gain) <= *g.Half {
		return 0
	}
	return cmp.Compare(g.Gain, 0)
}

// OverSeeds are the means of the comparisons of several seeds, that of one as it is.
func OverSeeds(seeds [][]Comparand) (all []Comparand) {
	if len(seeds) < 2 {
		return slices.Concat(seeds...)
	}
	mean := func(of func(seed int) *float64) (*float64, *float64) {
		s := stats.Known(list.Made(len(seeds), func(seed int) float64 { return Defined(of(seed)) }))
		return measure.OrNil(s.Mean), measure.OrNil(s.Half)
	}
	for i, first := range seeds[0] {
		m := Comparand{Name: first.Name, Settings: first.Settings}
		gain := func(of func(*Comparand) **Gain) {
			g := Gain{Seeds: len(seeds)}
			x, half := mean(func(seed int) *float64 {
				if one := *of(&seeds[seed][i]); one != nil {
					g.Better, g.Clients = g.Better+one.Better, g.Clients+one.Clients
					return &one.Gain
				}
				return nil
			})
			if x != nil {
				g.Gain, g.Half, *of(&m) = *x, half, &g
			}
		}
		for _, s := range seeds {
			if len(s) != len(seeds[0]) || s[i].Name != first.Name {
				return nil // trained with other keys
			}
			if s[i].Settings != first.Settings {
				m.Settings = ""
			}
		}
		var test *float64
		test, m.TestHalf = mean(func(seed int) *float64 { return &seeds[seed][i].Test })
		m.Test = *test
		m.ROCAUC, m.ROCAUCHalf = mean(func(seed int) *float64 { return seeds[seed][i].ROCAUC })
		gain(func(c *Comparand) **Gain { return &c.OverLocal })
		gain(func(c *Comparand) **Gain { return &c.OverFederated })
		gain(func(c *Comparand) **Gain { return &c.ROCAUCOverLocal })
		all = append(all, m)
	}
	return all
}

// Defined is NaN for nil.
func Defined(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
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
			m.errors, m.aucs = append(m.errors, t.Test), append(m.aucs, -Defined(t.ROCAUC))
			if len(clients) <= mostListed {
				m.Clients = append(m.Clients, t)
			}
		}
		for i := range all {
			switch gain := gainOver(all[i].errors, m.errors, clients); all[i].Name {
			case config.BaselineLocal:
				m.OverLocal, m.ROCAUCOverLocal = gain, gainOver(all[i].aucs, m.aucs, nil)
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
		all[i].errors, all[i].aucs = nil, nil // as in a result that is read again
	}
	return all
}

// gainOver is by how much numbers of clients are lower than others, with the clients' samples as weights, equal ones
// without clients; nil where the numbers are of others, or where no client has both.
func gainOver(was, now []float64, clients []fl.ClientError) *Gain {
	if len(was) != len(now) {
		return nil
	}
	g, sum, weights := &Gain{}, 0.0, 0.0
	differences, weight := make([]float64, len(was)), func(int) float64 { return 1 }
	if clients != nil {
		weight = func(i int) float64 { return float64(clients[i].Samples) }
	}
	for i := range was {
		d := was[i] - now[i]
		if differences[i] = d; d > 0 {
			g.Better++
		}
		if !math.IsNaN(d) {
			g.Clients++
			sum, weights = sum+float64(weight(i)*d), weights+weight(i)
		}
	}
	if g.Gain = sum / weights; g.Clients == 0 {
		return nil
	}
	g.Half = pairedHalf(differences, weight, g.Gain)
	return g
}

// pairedHalf is half the width of the interval of a gain over clients, by the differences of each, with their
// numbers of samples as weights, as Summary.StdErr has them; nil for fewer than two clients that have one.
func pairedHalf(differences []float64, weight func(client int) float64, gain float64) *float64 {
	n, weights, squares := 0, 0.0, 0.0
	for i := range differences {
		if d := differences[i] - gain; !math.IsNaN(d) {
			x := float64(weight(i) * d)
			n, weights, squares = n+1, weights+weight(i), squares+float64(x*x)
		}
	}
	if n < 2 {
		return nil
	}
	return new(stats.Student(float64(n-1)) * math.Sqrt(squares*float64(n)/float64(n-1)) / weights)
}
