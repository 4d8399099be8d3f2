package data

import (
	"fmt"
	"math"
	"slices"

	"github.com/fedfast/fedfast/internal/pixel"
)

// The values of Config.Normalize.
const (
	NormalizeNone   = "none"
	NormalizeAuto   = "auto"
	NormalizeGlobal = "global"
	NormalizeClient = "client"
)

// Normalized are a mean and a standard deviation for each channel of an image or number of
// a vector: x becomes (x - Mean) / Std, each operation rounded to float32.
type Normalized struct {
	Mean, Std []float32
}

// checkMeasured reports what is wrong with Normalize.
func (c *Config) checkMeasured(s *SetInfo, bad func(string, ...any)) {
	refuse := func(format string, args ...any) {
		bad("data.normalize = %q: "+format, append([]any{c.Normalize}, args...)...)
	}
	measured := c.Normalize == NormalizeGlobal || c.Normalize == NormalizeClient
	switch {
	case c.Normalize == "" || c.Normalize == NormalizeNone:
	case !measured && c.Normalize != NormalizeAuto:
		refuse("must be one of none, auto, global, client")
	case len(c.ImageMean) > 0 || len(c.ImageStd) > 0:
		refuse("data.image_mean and data.image_std normalize the images; leave them out, or set data.normalize = %q",
			NormalizeNone)
	case measured && s.Kind == Tokens:
		refuse("%s has neither images nor vectors; leave it out", s.Name)
	case measured && c.standardizes():
		refuse("data.augment = %q normalizes the images itself; leave it out", c.Augment)
	case c.Normalize == NormalizeClient && c.Proxy > 0:
		refuse("the samples of data.proxy are of no client; use %q", NormalizeGlobal)
	}
}

// standardizes reports whether Augment does.
func (c *Config) standardizes() bool { return c.Augment != "" && !slices.Contains(moves, c.Augment) }

// measure normalizes the examples of fed as Normalize says.
func (c *Config) measure(fed *Federation) error {
	if fed.Columns != nil {
		return c.encode(fed)
	}
	off := c.Normalize == "" || c.Normalize == NormalizeNone
	if off || c.Normalize == NormalizeAuto && (fed.Kind != Image || c.standardizes() || fed.Lazy) {
		return nil
	}
	if fed.Lazy {
		return fmt.Errorf("data.normalize = %q: the samples are not in memory; leave it out", c.Normalize)
	}
	if c.Normalize == NormalizeClient {
		fed.Notes = append(fed.Notes, "each client's samples are normalized by those that it trains on (data.normalize)")
		return c.each(fed, func(client *Client) {
			own := newSums(fed.C)
			own.add(client.Train)
			own.normalized().apply(map[source]source{}, &client.Train, &client.Val, &client.Test)
		})
	}
	all := newSums(fed.C)
	for i := range fed.Clients {
		own := newSums(fed.C) // what the client sends
		own.add(fed.Clients[i].Train)
		all.join(own)
	}
	n, made := all.normalized(), map[source]source{}
	fed.apply(func(views ...*View) { n.apply(made, views...) })
	fed.Normalized, fed.Sent = n, 8*(1+2*fed.C)
	fed.Notes = append(fed.Notes, fmt.Sprintf("normalized by %s of the clients' training samples (data.normalize); "+
		"for them each client sends sums of %d bytes, once", n, fed.Sent))
	return nil
}

// apply calls with all views of a federation.
func (f *Federation) apply(call func(views ...*View)) {
	call(&f.Test, &f.Proxy)
	for _, clients := range [][]Client{f.Clients, f.Unseen} {
		for i := range clients {
			call(&clients[i].Train, &clients[i].Val, &clients[i].Test)
		}
	}
}

// each calls with each client, all of which must have training examples by which to normalize theirs.
func (c *Config) each(fed *Federation, call func(*Client)) error {
	if fed.Test.Len() > 0 {
		return fmt.Errorf("data.normalize = %q: the test samples of %s are of no client; use %q",
			c.Normalize, c.Name, NormalizeGlobal)
	}
	for _, clients := range [][]Client{fed.Clients, fed.Unseen} {
		for i := range clients {
			if clients[i].Train.Len() == 0 {
				return fmt.Errorf("data.normalize = %q: client %.64q has no training samples; set data.unseen = false, or use %q",
					c.Normalize, clients[i].ID, NormalizeGlobal)
			}
			call(&clients[i])
		}
	}
	return nil
}

// String says "mean 0.286 and deviation 0.353", or how many there are if they are many.
func (n *Normalized) String() string {
	const most = 4
	switch {
	case len(n.Mean) == 1:
		return fmt.Sprintf("mean %.4g and deviation %.4g", n.Mean[0], n.Std[0])
	case len(n.Mean) <= most:
		return fmt.Sprintf("means %.4g and deviations %.4g", n.Mean, n.Std)
	}
	return fmt.Sprintf("%d means and deviations", len(n.Mean))
}

// sums are what a client sends of its training samples: their number, and per channel the
// sums of their values and of the values' squares, in float64.
type sums struct {
	n              float64 // values of a channel
	values, square []float64
}

func newSums(channels int) *sums {
	return &sums{values: make([]float64, channels), square: make([]float64, channels)}
}

// add adds the examples of a view, in order.
func (s *sums) add(v View) {
	if v.n == 0 {
		return
	}
	floats, _ := v.src.size()
	x := make([]float32, floats)
	for i := range v.n {
		v.src.read(v.at(i), x, nil, nil)
		for ch := range s.values {
			for at := ch; at < len(x); at += len(s.values) {
				f := float64(x[at])
				s.values[ch] += f
				s.square[ch] += float64(f * f) // not fused, which would give other bits
			}
		}
	}
	s.n += float64(v.n * floats / len(s.values))
}

// join adds the sums of another client.
func (s *sums) join(other *sums) {
	s.n += other.n
	for ch := range s.values {
		s.values[ch] += other.values[ch]
		s.square[ch] += other.square[ch]
	}
}

// normalized returns the means and deviations; one below leastStd counts as 1, since the
// channel is constant.
func (s *sums) normalized() *Normalized {
	n := &Normalized{Mean: make([]float32, len(s.values)), Std: make([]float32, len(s.values))}
	for ch := range s.values {
		mean := s.values[ch] / s.n
		std := math.Sqrt(max(0, s.square[ch]/s.n-float64(mean*mean)))
		if std < leastStd {
			std = 1
		}
		n.Mean[ch], n.Std[ch] = float32(mean), float32(std)
	}
	return n
}

// apply gives views the normalized examples. made has the sources made so far by those that
// they replace.
func (n *Normalized) apply(made map[source]source, views ...*View) { replace(n.source, made, views) }

// replace gives views the sources that other makes of theirs, each made once.
func replace(other func(source) source, made map[source]source, views []*View) {
	for _, v := range views {
		if v.n == 0 {
			continue
		}
		if made[v.src] == nil {
			made[v.src] = other(v.src)
		}
		v.src = made[v.src]
	}
}

// source returns src with normalized examples.
func (n *Normalized) source(src source) source {
	if bytes, ok := src.(*images); ok && !bytes.jitter {
		other := *bytes
		other.tables = n.tables()
		return &other
	}
	return withTargets(&normalizedSource{src, n}, src)
}

// tables returns the floats of the bytes of each channel.
func (n *Normalized) tables() []table {
	tables := make([]table, len(n.Mean))
	for ch := range tables {
		for k := range tables[ch] {
			tables[ch][k] = (pixel.Unit[k] - n.Mean[ch]) / n.Std[ch]
		}
	}
	return tables
}

// normalizedSource normalizes the floats of another source.
type normalizedSource struct {
	source
	by *Normalized
}

func (s *normalizedSource) read(at int32, x []float32, tokens []int32, aug *Augment) int32 {
	label := s.source.read(at, x, tokens, aug)
	for ch, mean := range s.by.Mean {
		for i := ch; i < len(x); i += len(s.by.Mean) {
			x[i] = (x[i] - mean) / s.by.Std[ch]
		}
	}
	return label
}
