package study

import (
	"cmp"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

// What config.AutoEvery stands for.
const (
	autoPoints  = 20  // measurements of a trial
	autoClients = 100 // clients at most
	fewClients  = 25  // clients that are kept before measurements become rarer
	// AutoShare is the most that the measurements take of the training's
	// multiply-adds.
	AutoShare = 0.05
)

// AutoPoints returns how many measurements config.AutoEvery takes during a number of
// rounds of a trial of a given length, and on how many of n clients, before AutoShare
// bounds them.
func AutoPoints(rounds, trialRounds, n int) (points, clients int) {
	return rounds / every(trialRounds), min(n, autoClients)
}

// every is how many rounds lie between the measurements of a trial.
func every(trialRounds int) int { return max(1, (trialRounds+autoPoints-1)/autoPoints) }

// pace says when the global model is measured on the way, and on which clients.
type pace struct {
	every   int // rounds from one measurement to the next; 0 is never
	clients func(round int) []int
}

// paceOf returns the pace of a set-up's trials. It follows from the configuration, the
// data and the model alone: a worker elsewhere finds the same one.
func paceOf(s *Setup, e *fl.Engine) pace {
	c := s.Config.Eval
	p := pace{every: c.Every, clients: func(int) []int { return e.EvalSample(c.Clients) }}
	if c.EveryClients > 0 {
		p.clients = func(round int) []int { return e.DrawTested(c.EveryClients, round) }
	}
	if c.Every != config.AutoEvery {
		return p
	}
	rounds := s.Config.Budget.TrialRounds
	if s.Unscored {
		rounds = s.Config.Rounds
	}
	p.every = every(rounds)
	forward, train := s.Model.FLOPs()
	afford := AutoShare * trainedSamples(s) * float64(train) / float64(max(1, forward)) // samples measured a round
	if c.EveryClients > 0 {
		p.stretch(e.DrawTested(c.EveryClients, 0), s, afford)
		return p
	}
	draw := e.EvalSample // of validation samples: the test set is of no client
	if s.Data.Test.Len() == 0 {
		draw = func(n int) []int { return e.DrawTested(n, 0) }
	}
	drawn := draw(min(cmp.Or(c.Clients, autoClients), autoClients))
	if n, total := len(drawn), measuredSamples(s, drawn); n > fewClients && float64(total) > afford*float64(p.every) {
		n = max(fewClients, int(float64(n)*afford*float64(p.every)/float64(total)))
		drawn = draw(n)
	}
	p.clients = func(int) []int { return drawn }
	p.stretch(drawn, s, afford)
	return p
}

// stretch makes measurements on clients rarer until they are affordable, given how many
// samples may be measured a round. A short training may go without any.
func (p *pace) stretch(clients []int, s *Setup, afford float64) {
	n := measuredSamples(s, clients)
	if n == 0 || !(afford > 0) {
		p.every = 0
		return
	}
	p.every = int(min(math.MaxInt32, max(float64(p.every), math.Ceil(float64(n)/afford))))
}

// measuredSamples counts what a measurement on clients takes.
func measuredSamples(s *Setup, clients []int) int {
	n := s.Data.Test.Len()
	for _, i := range clients {
		n += s.Data.Clients[i].Test.Len()
		if s.Config.Eval.Patience > 0 {
			n += s.Data.Clients[i].Val.Len()
		}
	}
	return n
}

// trainedSamples is how many samples a round trains on, at least: with the fewest epochs
// and steps of the search space, and on the mean client.
func trainedSamples(s *Setup) float64 {
	c := &s.Config
	var samples float64
	for i := range s.Data.Clients {
		samples += float64(s.Data.Clients[i].Train.Len())
	}
	n := samples / float64(len(s.Data.Clients))
	lowest := func(name string, own float64) float64 {
		if s.Unscored || c.Space[name] == nil {
			return own
		}
		d, err := tuners.ParseDim(name, c.Space[name])
		if err != nil {
			return own // what opens the study says so
		}
		return least(d, own)
	}
	batch := min(lowest("client.batch", float64(c.Client.Batch)), n)
	each := max(batch, n*lowest("client.epochs", c.Client.Epochs))
	if steps := lowest("client.steps", float64(c.Client.Steps)); steps > 0 {
		each = steps * batch
	}
	return float64(c.Cohort) * each
}

// least returns the least number of a dimension, own where it has none.
func least(d tuners.Dim, own float64) float64 {
	low, ends := math.Inf(1), d.Choices
	if d.Kind != tuners.Choice {
		ends = []tuners.Value{d.Value(d.Lo), d.Value(d.Hi)}
	}
	for _, v := range ends {
		if x, ok := v.Float(); ok {
			low = min(low, x)
		}
	}
	if math.IsInf(low, 1) {
		return own
	}
	return low
}

// checkCurve returns an error for keys that ask for a curve of what there is not.
func checkCurve(s *Setup) error {
	eval, kind := s.Config.Eval, s.Model.Loss().Kind
	if s.Model.Loss().Numbers() && eval.Goal > 0 {
		return &key.Error{Key: "eval.goal", Problem: fmt.Sprintf(" = %v: models with the loss %q have no accuracy; leave it out", eval.Goal, kind)}
	}
	if eval.Patience == 0 {
		return nil
	}
	for _, part := range []struct {
		name string
		of   func(*data.Client) data.View
	}{
		{"validation", func(c *data.Client) data.View { return c.Val }},
		{"test", func(c *data.Client) data.View { return c.Test }},
	} {
		some := part.name == "test" && s.Data.Test.Len() > 0
		for i := range s.Data.Clients {
			some = some || part.of(&s.Data.Clients[i]).Len() > 0
		}
		if !some {
			return &key.Error{Key: "eval.patience", Problem: fmt.Sprintf(" = %d: no client has %s samples; set data.split, or leave eval.patience out", eval.Patience, part.name)}
		}
	}
	return nil
}
