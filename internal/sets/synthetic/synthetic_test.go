package synthetic

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/draw"
)

func generate(t *testing.T, c Config) []Client {
	t.Helper()
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := d.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

// centre returns the mean point of a client.
func centre(c *Client) (mean [Features]float64) {
	for i, x := range c.X {
		mean[i%Features] += float64(x) / float64(len(c.Labels))
	}
	return mean
}

func TestSizes(t *testing.T) {
	clients := generate(t, Config{Seed: 1})
	if len(clients) != 30 {
		t.Errorf("%d clients, must be 30", len(clients))
	}
	var logs []float64
	for _, c := range generate(t, Config{Seed: 2, Clients: 300}) {
		if len(c.Labels) < 50 || len(c.X) != 60*len(c.Labels) {
			t.Fatalf("a client of %d labels and %d numbers", len(c.Labels), len(c.X))
		}
		logs = append(logs, math.Log(float64(len(c.Labels)-50)+0.5))
	}
	slices.Sort(logs)
	if median := logs[150]; math.Abs(median-4) > 0.4 {
		t.Errorf("the median of log(size - 50) is %v, must be near 4", median)
	}
	if above := logs[252]; math.Abs(above-6) > 0.6 { // 84 %: a deviation above
		t.Errorf("84 %% of log(size - 50) are below %v, must be near 6", above)
	}
	total := 0
	for _, c := range generate(t, Config{Seed: 3, Clients: 40, Samples: 70, Least: 20}) {
		if total += len(c.Labels); len(c.Labels) < 20 {
			t.Errorf("a client of %d, must have 20", len(c.Labels))
		}
	}
	if total != 2800 {
		t.Errorf("%d samples, must be 40 x 70", total)
	}
}

// TestPoints checks the variances of the points around their client's centre,
// and that of the centres.
func TestPoints(t *testing.T) {
	for _, beta := range []float64{0, 1, 3} {
		clients := generate(t, Config{Seed: 4, Clients: 200, Samples: 150, Least: 100, Beta: beta})
		var within [Features]float64
		var between float64 // of the means of the centres' entries
		n := 0.0
		for i := range clients {
			c, mean := &clients[i], centre(&clients[i])
			overall := 0.0
			for _, m := range mean {
				overall += m / Features
			}
			between += overall * overall / 200
			for k, x := range c.X {
				d := float64(x) - mean[k%Features]
				within[k%Features] += d * d
			}
			n += float64(len(c.Labels) - 1)
		}
		for j := range within {
			if got, want := within[j]/n, math.Pow(float64(j+1), -1.2); math.Abs(got/want-1) > 0.06 {
				t.Errorf("feature %d has variance %v, must be near %v", j+1, got, want)
			}
		}
		if want := beta*beta + 1.0/Features; math.Abs(between/want-1) > 0.35 {
			t.Errorf("beta %v: the centres' means have variance %v, must be near %v", beta, between, want)
		}
	}
}

// TestLabelsComeOfOneLinearModel trains the perceptron on a client until it errs
// nowhere, which it does only if a linear model labelled the points.
func TestLabelsComeOfOneLinearModel(t *testing.T) {
	for _, c := range generate(t, Config{Seed: 5, Clients: 3, Samples: 60, Least: 60, Alpha: 1, Beta: 1}) {
		var w [Classes][Features + 1]float64
		wrong := 1
		for pass := 0; wrong > 0; pass++ {
			if pass == 50_000 {
				t.Fatalf("no linear model labels the points of a client: %d are wrong", wrong)
			}
			wrong = 0
			for i, label := range c.Labels {
				x := c.X[i*Features : (i+1)*Features]
				var scores [Classes]float64
				for class := range scores {
					scores[class] = w[class][Features]
					for j, v := range x {
						scores[class] += w[class][j] * float64(v)
					}
				}
				if got := largest(&scores); got != label {
					wrong++
					for j, v := range x {
						w[got][j] -= float64(v)
						w[label][j] += float64(v)
					}
					w[got][Features]--
					w[label][Features]++
				}
			}
		}
	}
}

// TestSeed checks that the seed decides everything, and that the number of
// clients changes none of the first ones.
func TestSeed(t *testing.T) {
	c := Config{Seed: 6, Clients: 12, Alpha: 0.5, Beta: 0.5}
	few, again := generate(t, c), generate(t, c)
	c.Clients = 20
	many := generate(t, c)
	c.Seed = 7
	other := generate(t, c)
	for k := range few {
		if !slices.Equal(few[k].X, again[k].X) || !slices.Equal(few[k].X, many[k].X) ||
			!slices.Equal(few[k].Labels, many[k].Labels) || slices.Equal(few[k].X[:60], other[k].X[:60]) {
			t.Errorf("client %d is not as its seed says", k)
		}
	}
}

// TestBits holds the draws to bits that every CPU must give.
func TestBits(t *testing.T) {
	var h uint64
	for _, c := range generate(t, Config{Seed: 8, Clients: 20, Alpha: 0.7, Beta: 1.3}) {
		for i, label := range c.Labels {
			h = draw.Key(h, uint64(label), uint64(math.Float32bits(c.X[i*Features+i%Features])))
		}
	}
	if want := uint64(0xc49f7f3b6e0ed95e); h != want {
		t.Errorf("drawn samples hash to %#x, must be %#x", h, want)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []Config{
		{Clients: maxClients + 1},
		{Clients: 3, Samples: maxExamples + 1},
		{Clients: 1000, Samples: maxExamples},
	} {
		if d, err := New(c); err == nil {
			t.Errorf("%+v: %d clients, the largest of %d", c, len(d.Sizes), slices.Max(d.Sizes))
		}
	}
	d, err := New(Config{Clients: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := d.All(t.Context()); err == nil {
		t.Errorf("%d clients are in memory together", len(all))
	}
	if d, err = New(Config{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.All(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
