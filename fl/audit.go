package fl

import (
	"context"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/kernels"
)

// Canaries are what an Audit saw of clients that send what is easiest to find again.
type Canaries struct {
	// In says which of them took part, by a fair coin; Scores is how much of each one's
	// direction the released sums have, in units of the clipping norm.
	In     []bool
	Scores []float64
	// Squares is the sum over the rounds and the canaries that were out of their squared
	// scores in units of the promised noise, Draws their number.
	Squares float64
	Draws   int
}

// canaryNorm is the norm of what a canary sends, over the promised clipping norm.
const canaryNorm = 1000

// Audit trains rounds in which some clients, drawn by the seed, are canaries: each owns a
// share of the trained parameters and, when its coin says so, sends a vector far beyond the
// clipping norm there; else it sends nothing. promised is the privacy that is audited, cfg
// what is run.
func Audit(ctx context.Context, cfg Config, plan Plan, promised Privacy, rounds, canaries int) (*Canaries, error) {
	clients := len(cfg.Data.Clients)
	if canaries < 2 || canaries > clients || canaries > cfg.Model.NumTrainable() {
		return nil, fmt.Errorf("canaries = %d: must be from 2 to the number of clients (%d) and of trained parameters (%d)", canaries, clients, cfg.Model.NumTrainable())
	}
	a := &audit{promised: promised, places: trainedPlaces(&cfg), number: map[int]int{}, cohort: float64(cfg.Cohort), pass: max(1, clients/max(1, cfg.Cohort))}
	if promised.Mechanism == BandedNoise {
		as := cfg
		as.Privacy = &promised
		a.bands = as.bands()
	}
	a.In, a.Scores = make([]bool, canaries), make([]float64, canaries)
	stream := kernels.NewStream(kernels.Key(cfg.Seed, purposeAudit), 0)
	for i, client := range draw(stream, clients, canaries) {
		a.number[client], a.In[i] = i, stream.Uint32()&1 == 1
	}
	local, server := cfg.Method.Local, cfg.Method.NewServer
	cfg.Method.Local = func(l *Local) error {
		i, ok := a.number[l.Client]
		if !ok {
			return local(l)
		}
		l.Upload = l.Vector(0)
		clear(l.Upload)
		if a.In[i] {
			a.send(l.Upload, i)
		}
		return nil
	}
	cfg.Method.NewServer = func(size int) Server { return &auditServer{server(size), a} }
	e, err := New(cfg)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	t := e.NewTrial(0)
	for range rounds {
		if _, err := t.Round(ctx, plan); err != nil {
			return nil, err
		}
	}
	return &a.Canaries, nil
}

// audit is one at work.
type audit struct {
	Canaries
	promised Privacy
	places   []int32     // of the trained parameters
	number   map[int]int // of a client that is a canary
	cohort   float64
	pass     int // rounds in a pass over the clients, of a tree
	bands    int
}

// size returns how many parameters a canary owns: each len(In)-th one.
func (a *audit) size(canary int) int { return (len(a.places) - canary + len(a.In) - 1) / len(a.In) }

// send writes what a canary sends.
func (a *audit) send(to []float32, canary int) {
	x := float32(canaryNorm * a.promised.Clip / math.Sqrt(float64(a.size(canary))))
	for i := canary; i < len(a.places); i += len(a.In) {
		to[a.places[i]] = x
	}
}

// noise returns the promised deviation of the noise of what a round releases, over the
// clipping norm; 0 where it shares noise with other rounds.
func (a *audit) noise(u *Update) float64 {
	switch a.promised.Mechanism {
	case LocalNoise:
		return a.promised.Noise * math.Sqrt(float64(u.Taken))
	case TreeNoise:
		if u.Round%a.pass%2 == 1 {
			return 0
		}
	case BandedNoise:
		if u.Round > 0 {
			return 0
		}
		return a.promised.Noise / bandColumn(a.bands)[0]
	}
	return a.promised.Noise
}

// see takes in what a round releases.
func (a *audit) see(u *Update) {
	noise := a.noise(u)
	sums := make([]float64, len(a.In))
	for i, place := range a.places {
		sums[i%len(sums)] += float64(u.Mean[place])
	}
	for i, sum := range sums {
		x := sum * a.cohort / math.Sqrt(float64(a.size(i))) / a.promised.Clip
		a.Scores[i] += x
		if !a.In[i] && noise > 0 {
			a.Squares += (x / noise) * (x / noise)
			a.Draws++
		}
	}
}

// auditServer looks at what the server receives.
type auditServer struct {
	Server
	audit *audit
}

func (s *auditServer) Step(w []float32, u *Update, p ServerParams) {
	s.audit.see(u)
	s.Server.Step(w, u, p)
}
