// Package synthetic draws the federation Synthetic(alpha, beta) of Li et al.
// ("Federated Optimization in Heterogeneous Networks", 2020), which LEAF counts
// among its sets: every client labels its points by a linear model of its own.
package synthetic

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/deal"
	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels/det"
)

// The form of the set.
const (
	Features = 60
	Classes  = 10
)

const (
	defaultClients = 30 // the paper's
	// The sizes of clients: offset and a log-normal number, whose logarithm has
	// this mean and deviation.
	sizeOffset = 50
	sizeMean   = 4
	sizeSigma  = 2

	maxClients  = 1 << 20
	maxExamples = 1 << 22 // of a client, 1 GB
	maxTogether = 1 << 24 // 4 GB
)

// The streams of a client.
const (
	purposeSizes uint64 = iota + 1
	purposeModel
	purposePoints
)

// Config describes what to draw.
type Config struct {
	Seed uint64
	// Clients is the number of clients; 0 means 30.
	Clients int
	// Samples is the mean number of examples of a client, none having fewer
	// than the lesser of Samples and Least; 0 leaves the sizes as published:
	// 50 and a log-normal number of logarithmic mean 4 and deviation 2.
	Samples, Least int
	// Alpha is how far the clients' models are apart, Beta how far their points
	// are: standard deviations, 0 or more.
	Alpha, Beta float64
}

// Client holds the examples of a client.
type Client struct {
	X      []float32 // Features numbers an example
	Labels []int32
}

// Clients draws the examples of clients.
type Clients struct {
	// Sizes are the clients' numbers of examples.
	Sizes  []int
	config Config
	spread [Features]float64
}

// New draws how many examples each client has. Client k has a model W_k (Features x
// Classes), b_k, all entries N(u_k, 1) with u_k ~ N(0, Alpha^2), and points
// x ~ N(v_k, Sigma), Sigma diagonal with Sigma_jj = j^-1.2, the entries of v_k
// being N(B_k, 1) with B_k ~ N(0, Beta^2). The label of x is the class of the
// largest x W_k + b_k. The paper writes N(0, alpha); its authors' program draws
// with alpha as the deviation, and so does this one.
//
// The error names the key of a configuration that asks for too much.
func New(c Config) (*Clients, error) {
	sizes, err := c.sizes()
	if err != nil {
		return nil, err
	}
	d := &Clients{Sizes: sizes, config: c}
	for j := range d.spread {
		d.spread[j] = det.Exp(float64(-0.6 * det.Log(float64(j+1))))
	}
	return d, nil
}

// All draws the examples of all clients, which must be in memory together. The error
// says that they are too many, or comes from ctx.
func (d *Clients) All(ctx context.Context) ([]Client, error) {
	total := list.Sum(d.Sizes, func(size int) int { return size })
	if total > maxTogether {
		return nil, fmt.Errorf("data.clients = %d, data.samples = %d, data.proxy above 0: at most %d samples can be in memory together, not %d", d.config.Clients, d.config.Samples, maxTogether, total)
	}
	clients := make([]Client, len(d.Sizes))
	for k := range clients {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		clients[k] = d.Client(k)
	}
	return clients, nil
}

// sizes draws how many examples each client has.
func (c *Config) sizes() ([]int, error) {
	clients := cmp.Or(c.Clients, defaultClients)
	if clients > maxClients || c.Samples > maxExamples {
		return nil, fmt.Errorf("data.clients = %d, data.samples = %d: at most %d clients of %d samples are drawn", c.Clients, c.Samples, maxClients, maxExamples)
	}
	key := draw.Key(c.Seed, draw.Synthetic, purposeSizes)
	var sizes []int
	if c.Samples > 0 {
		sizes = deal.LogNormal(clients, clients*c.Samples, min(c.Samples, c.Least), sizeSigma, key)
	} else {
		normal := draw.New(key)
		sizes = make([]int, clients)
		for k := range sizes {
			sizes[k] = sizeOffset + int(det.Exp(sizeMean+float64(sizeSigma*normal.Normal())))
		}
	}
	if largest := slices.Max(sizes); largest > maxExamples {
		return nil, fmt.Errorf("data.clients = %d, data.samples = %d: the largest client has %d samples, more than the %d "+
			"that are drawn; lower data.samples, their mean", c.Clients, c.Samples, largest, maxExamples)
	}
	return sizes, nil
}

// Client draws the examples of client k. Several goroutines may call it at once.
func (d *Clients) Client(k int) Client { return d.config.client(uint64(k), d.Sizes[k], &d.spread) }

// client draws client k.
func (c *Config) client(k uint64, size int, spread *[Features]float64) Client {
	s := draw.New(c.Seed, draw.Synthetic, purposeModel, k)
	u, b := float64(c.Alpha*s.Normal()), float64(c.Beta*s.Normal())
	var weights [Features][Classes]float64
	var bias [Classes]float64
	for j := range weights {
		for class := range weights[j] {
			weights[j][class] = u + s.Normal()
		}
	}
	for class := range bias {
		bias[class] = u + s.Normal()
	}
	var centre [Features]float64
	for j := range centre {
		centre[j] = b + s.Normal()
	}
	client := Client{X: make([]float32, size*Features), Labels: make([]int32, size)}
	s = draw.New(c.Seed, draw.Synthetic, purposePoints, k)
	for i := range client.Labels {
		x := client.X[i*Features : (i+1)*Features]
		scores := bias
		for j := range x {
			x[j] = float32(centre[j] + float64(spread[j]*s.Normal()))
			for class, w := range weights[j] {
				scores[class] += float64(float64(x[j]) * w)
			}
		}
		client.Labels[i] = largest(&scores)
	}
	return client
}

// largest returns the class of the largest score, of equal ones the first.
func largest(scores *[Classes]float64) int32 {
	best := 0
	for class, score := range scores {
		if score > scores[best] {
			best = class
		}
	}
	return int32(best)
}

// Sets returns the one set: synthetic.
func Sets() []data.Set { return []data.Set{syntheticSet()} }

// syntheticSet is Synthetic(alpha, beta).
func syntheticSet() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "synthetic",
		Doc: "SYNTHETIC(alpha, beta) of Li et al. and LEAF: every client labels its points by a linear model of its own; no download. " +
			"data.alpha sets how far the models are apart, data.beta how far the points are (0, 0.5, 1 in the paper)",
		Kind: data.Vector, Input: "60 numbers", Classes: Classes, Clients: "30 by default",
		Samples: "50 + a log-normal number (4, 2) a client; data.samples sets their mean", Synthetic: true, AlphaBeta: true,
	}, Load: loadSynthetic}
}

func loadSynthetic(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	d, err := New(Config{
		Seed: cfg.Seed, Clients: cfg.Clients, Samples: cfg.Samples, Least: cfg.MinSamples, Alpha: cfg.Alpha, Beta: cfg.Beta,
	})
	if err != nil {
		return nil, nil, err
	}
	fed := &data.Federation{H: 1, W: 1, C: Features, Classes: Classes, Lazy: cfg.Proxy == 0}
	rows := data.NewLazyVectors(Features, Classes, func(k int) ([]float32, []int32, error) {
		c := d.Client(k)
		return c.X, c.Labels, nil
	})
	view := func(k, size int) data.View { return rows.View(k, size) }
	if !fed.Lazy { // samples are set apart
		all, err := d.All(ctx)
		if err != nil {
			return nil, nil, err
		}
		view = func(k, _ int) data.View { return data.VectorView(Features, all[k].X, all[k].Labels) }
	}
	writers := make([]data.Examples, len(d.Sizes))
	digits := len(strconv.Itoa(len(writers) - 1))
	for k, size := range d.Sizes {
		writers[k] = data.Examples{Client: fmt.Sprintf("%0*d", digits, k), Train: view(k, size)}
	}
	return fed, writers, nil
}
