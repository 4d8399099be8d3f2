package fl

import (
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
)

// Cohort returns the clients that a round of a trial of that number trains, in the
// order of its slots, where DrawsCohorts says that the round alone decides it.
func (e *Engine) Cohort(trial, round int) []int {
	return e.cfg.cohort(len(e.cfg.Data.Clients), trial, round, e.able)
}

// cohort is Engine.Cohort among a number of clients, of which some may be drawn.
func (c *Config) cohort(clients, trial, round int, may func(int) bool) []int {
	if c.Shared {
		trial = 0
	}
	if c.Shuffle && c.Privacy.noises(BandedNoise) {
		stream := kernels.NewStream(kernels.Key(c.Seed, uint64(trial), 0, purposePass), 0)
		turn, order := draw(stream, clients, clients), make([]int, c.Cohort)
		for i := range order {
			order[i] = turn[(round*c.Cohort+i)%clients]
		}
		return order
	}
	if c.Shuffle {
		pass, at := round/(clients/c.Cohort), round%(clients/c.Cohort)
		stream := kernels.NewStream(kernels.Key(c.Seed, uint64(trial), uint64(pass), purposePass), 0)
		return draw(stream, clients, (at+1)*c.Cohort)[at*c.Cohort:]
	}
	stream := kernels.NewStream(cohortKey(c.Seed, uint64(trial), round), 0)
	if c.Poisson {
		return c.poisson(stream, clients)
	}
	if c.BySize {
		ends, all := make([]int, clients), 0
		for i := range ends {
			all += c.Data.Clients[i].Train.Len()
			ends[i] = all
		}
		return list.Made(c.Cohort, func(int) int {
			client, _ := slices.BinarySearch(ends, stream.IntN(all)+1)
			return client
		})
	}
	if c.Replacement {
		return list.Made(c.Cohort, func(i int) int { return stream.IntN(clients) })
	}
	return drawAmong(stream, clients, c.Cohort, may)
}

// Small returns the number of clients that never take part, since their devices have too
// little memory for their local training.
func (e *Engine) Small() int {
	if f, ok := e.fleet.(*fleet.Fleet); ok {
		return len(e.cfg.Data.Clients) - f.Able()
	}
	return 0
}

// able reports whether a client's device has the memory for its local training, which no
// round changes.
func (e *Engine) able(client int) bool {
	f, ok := e.fleet.(*fleet.Fleet)
	return !ok || f.Fits(client)
}

// cohortKey keys the draw of a round's clients.
func cohortKey(seed, trial uint64, round int) uint64 {
	return kernels.Key(seed, trial, uint64(round), purposeCohort)
}

// draw returns k different numbers below n, in the order of drawing: the first
// steps of a Fisher-Yates shuffle.
func draw(stream *kernels.Stream, n, k int) []int { return drawAmong(stream, n, k, anyone) }

// anyone may be drawn.
func anyone(int) bool { return true }

// drawAmong is draw for the numbers that may be drawn.
func drawAmong(stream *kernels.Stream, n, k int, may func(int) bool) []int {
	ids, drawn := make([]int, n), make([]int, 0, k)
	for i := range ids {
		ids[i] = i
	}
	for i := 0; i < n && len(drawn) < k; i++ {
		j := i + stream.IntN(n-i)
		ids[i], ids[j] = ids[j], ids[i]
		if may(ids[i]) {
			drawn = append(drawn, ids[i])
		}
	}
	return drawn
}

// poisson draws each client with probability cohort/clients.
func (c *Config) poisson(stream *kernels.Stream, clients int) []int {
	rate := float64(c.Cohort) / float64(clients)
	drawn := make([]int, 0, 2*c.Cohort)
	for i := range clients {
		if stream.Float64() < rate {
			drawn = append(drawn, i)
		}
	}
	return drawn
}

// MostTaken returns, for each number of a trial's first rounds from 0 to rounds, in how many
// of these the client takes part that takes part in most, where the round alone decides who
// does. Of the configuration it reads Seed, Cohort and how cohorts are drawn; clients is
// their number in the federation.
func (c *Config) MostTaken(clients, trial, rounds int) []int {
	most := make([]int, rounds+1)
	taken := make([]int, clients)
	for round := range rounds {
		most[round+1] = max(most[round], c.take(taken, trial, round))
	}
	return most
}

// MostTakenOf returns likewise in how many rounds of the trials 0, 1, ... the client takes part
// that takes part in most of them, where each trial has a number of rounds.
func (c *Config) MostTakenOf(clients, trials, rounds int) int {
	most, taken := 0, make([]int, clients)
	for i := range trials * rounds {
		most = max(most, c.take(taken, i/rounds, i%rounds))
	}
	return most
}

// take counts the clients of a round, and returns the largest of their counts.
func (c *Config) take(taken []int, trial, round int) (most int) {
	for _, client := range c.cohort(len(taken), trial, round, anyone) {
		taken[client]++
		most = max(most, taken[client])
	}
	return most
}

// mostCohort returns how many clients a round may have.
func (c *Config) mostCohort() int {
	if c.Poisson {
		return len(c.Data.Clients)
	}
	return c.Cohort
}

// SamplingPoisson is the value of the key sampling that Config.Poisson stands for.
const SamplingPoisson = "poisson"

// SamplingSize is that which Config.Replacement and BySize stand for.
const SamplingSize = "size"

// checkCohorts returns an error for cohorts that cannot be drawn as they are to.
func (c *Config) checkCohorts() error {
	bad := func(sampling, problem string) error {
		return &key.Error{Key: "sampling", Problem: fmt.Sprintf(" = %q: ", sampling) + problem}
	}
	switch {
	case c.Shared && (c.Fleet != nil || c.Privacy != nil || c.Sampler.Kind != ""):
		return &key.Error{Key: "cohorts", Problem: " = \"shared\": only for clients that are drawn at random alone, and without privacy"}
	case c.BySize && !c.Replacement:
		return bad(SamplingSize, "a client may be drawn twice in a round; set Replacement, too")
	case !c.Poisson && !c.Shuffle:
		return nil
	case c.Poisson && c.Shuffle:
		return bad(SamplingPoisson, "clients are drawn in one way; leave Poisson or Shuffle out")
	case c.Poisson && c.Replacement:
		return bad(SamplingPoisson, "a client is drawn at most once in a round; leave Replacement out")
	case c.Shuffle && c.Replacement:
		return bad("shuffle", "a client is drawn once in each pass over all clients; leave Replacement out")
	case c.Poisson && c.Fleet != nil:
		return bad(SamplingPoisson, "rounds on a fleet have cohorts of a fixed size; use \"without\", or leave [fleet] out")
	case c.Shuffle && c.Fleet != nil:
		return bad("shuffle", "which clients of a fleet are free decides who works; use \"without\" or \"longest_waiting\", or leave [fleet] out")
	case c.Poisson && c.Method.NewSender != nil:
		return bad(SamplingPoisson, fmt.Sprintf("the server of method %q has cohorts of a fixed size; use \"without\"", c.Method.Name))
	}
	return nil
}
