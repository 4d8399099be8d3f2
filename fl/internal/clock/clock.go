// Package clock computes when the clients of a training start and end on a fleet of
// unequal devices, and which of their updates each step of the server takes. It trains
// nothing: a schedule depends on its configuration, its keys, the fleet and the work of
// each job alone.
package clock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/internal/order"
	"github.com/fedfast/fedfast/internal/nanos"
)

// Fleet is what a schedule asks of a fleet.Fleet.
type Fleet interface {
	// Available says whether a client is there at a time, and until when that may last.
	Available(client int, t int64) (on bool, until int64)
	// Run says how a job goes.
	Run(j fleet.Job) fleet.Outcome
}

// Config says how the server works. All times are nanoseconds.
type Config struct {
	// Clients are the clients of the federation.
	Clients int
	// Async has the server take updates as they come; otherwise it works in rounds.
	Async bool

	// Cohort is how many updates a round takes, of Drawn clients that it begins with.
	Cohort, Drawn int
	// Deadline ends a round, 0 never.
	Deadline int64
	// Partial has a client that would be late take as many local steps as fit.
	Partial bool
	// MinUpdates are those without which a round fails, MaxFailed the rounds that may
	// fail in a row.
	MinUpdates, MaxFailed int
	// CohortKey keys the draw of a round's clients.
	CohortKey func(round int) uint64

	// Concurrency is how many clients work at a time, Buffer how many updates a step
	// takes, Open how many clients must have ended before others begin.
	Concurrency, Buffer, Open int
	// Window, when above 0, has a step take what has arrived at the end of a window of that
	// time, instead of Buffer updates; it needs Hold.
	Window int64
	// MaxStaleness is the most steps between the start and the arrival of an update that
	// is taken.
	MaxStaleness int
	// Hold draws no client whose update waits for the step.
	Hold bool
	// DispatchKey keys the draws of single clients.
	DispatchKey uint64
	// Jitter is added to the number of a job, so that trials differ.
	Jitter uint64

	// Server is how long a step of the server takes.
	Server int64
}

// Fate is what becomes of a job.
type Fate uint8

// The fates of jobs.
const (
	Took   Fate = iota // its update was taken
	Late               // it had not arrived when its round ended
	Failed             // it ended before it was done
	Stale              // too many steps had been made since its start
)

// Job is the training of a client.
type Job struct {
	Client int
	// Place is where it was drawn in its round, from 0; without rounds it is 0.
	Place int
	// Slot is the slot of its Load.
	Slot int `json:",omitempty"`
	// Sequence numbers the jobs of a trial.
	Sequence uint64
	// Start is when the client begins to receive the weights, Received when it has them,
	// Computed when it has trained, End when the server has its update, or it fails or is
	// late.
	Start, Received, Computed, End int64
	// Base is how many steps the server had made at the start, Staleness how many it has
	// made since.
	Base, Staleness int
	// Steps are the local steps that fit before the deadline; 0 for all.
	Steps int `json:",omitempty"`
	Fate  Fate
}

// before orders the ends of jobs: a failure before an arrival at the same time.
func (j *Job) before(o *Job) bool {
	switch {
	case j.End != o.End:
		return j.End < o.End
	case (j.Fate == Failed) != (o.Fate == Failed):
		return j.Fate == Failed
	case j.Client != o.Client:
		return j.Client < o.Client
	}
	return j.Sequence < o.Sequence
}

// Step is a step of the server.
type Step struct {
	// Start is when the step before ended, End when this one does.
	Start, End int64
	// Taken are the jobs whose updates it takes: those of a round in the order of drawing,
	// others in that of their arrival.
	Taken []Job
	// Lost are the jobs whose work was lost since the step before.
	Lost []Job
	// Failed is how many rounds failed before it.
	Failed int
}

// Load is what a client's job takes: operations, and bytes to receive and to send.
type Load struct {
	FLOPs    float64
	Down, Up int64
	// Steps are the local steps of all of it.
	Steps int
	// Slot is what the job has of those that begin between two steps.
	Slot int
}

// Work returns the load of a client's job; with steps above 0 that of this number of
// local steps. place counts the clients that began since the last step, or in the round.
type Work func(place, client, steps int) Load

// State is what a schedule is between two steps.
type State struct {
	// Now is the time, Steps how many the server has made, Next the number of the next job.
	Now   int64
	Steps int
	Next  uint64
	// Flying are the jobs at work, in no order that matters.
	Flying []Job
	// Away are the idle clients that a choice has found away, in no order that matters.
	Away []Away `json:",omitempty"`
}

// Schedule is the schedule of a trial.
type Schedule struct {
	cfg     Config
	fleet   Fleet
	chooser Chooser          // nil where clients are drawn at random
	state   State            // Flying and Away are heaps
	idle    order.Bag[int32] // clients that may be drawn at random, without rounds
	step    Step             // in the making
	begun   int              // clients that began in it, without rounds
	wake    int64            // when it is worth while to look for clients again
	order   []int32
	swaps   []int32
	drawn   []Job
	present *present // nil until a draw finds nearly all away

	before     State  // the step in the making, but for Flying and Away
	left, back []Away // clients that were found away since then, and that were found before
}

// ErrNobody is wrapped by the error of a schedule without clients.
var ErrNobody = errors.New("no client is available at any later time")

// ErrFailing is wrapped by the error of a schedule whose rounds fail again and again.
var ErrFailing = errors.New("too many rounds failed in a row")

// New returns a schedule at its beginning. Without a chooser, clients are drawn at random.
func New(cfg Config, f Fleet, c Chooser) *Schedule {
	s := &Schedule{cfg: cfg, fleet: f, chooser: c}
	s.Restore(State{})
	return s
}

// Set changes how the server works from the next step on; the clients and Async stay.
func (s *Schedule) Set(cfg Config) { s.cfg = cfg }

// State returns what the schedule is between two steps.
func (s *Schedule) State() State {
	c := s.state
	c.Flying, c.Away = slices.Clone(c.Flying), slices.Clone(c.Away)
	return c
}

// Restore puts the schedule into a state, after its chooser.
func (s *Schedule) Restore(c State) {
	s.state, s.order, s.present = c, nil, nil
	s.state.Flying, s.state.Away = nil, nil
	out := make(map[int32]bool, len(c.Flying)+len(c.Away))
	for _, j := range c.Flying {
		s.push(j)
		out[int32(j.Client)] = true
	}
	for _, a := range c.Away {
		s.state.Away = order.Push(s.state.Away, a, (*Away).before)
		out[int32(a.Client)] = true
	}
	switch {
	case s.chooser != nil:
		s.chooser.Reset(out)
	case s.cfg.Async:
		s.idle = order.NewBag[int32](s.cfg.Clients, nil, func(i int) bool { return out[int32(i)] })
	}
}

// Undo puts the schedule, and its chooser, into the state before the last call of Next.
func (s *Schedule) Undo() {
	c := s.before
	for _, jobs := range [][]Job{s.state.Flying, s.step.Taken, s.step.Lost} {
		for _, j := range jobs {
			if j.Sequence >= c.Next {
				continue // it began since
			}
			if j.Staleness = 0; j.Fate == Stale {
				j.Fate = Took
			}
			c.Flying = append(c.Flying, j)
		}
	}
	left := make(map[Away]int, len(s.left))
	for _, a := range s.left {
		left[a]++
	}
	for _, a := range slices.Concat(s.state.Away, s.back) {
		if left[a]--; left[a] < 0 {
			c.Away = append(c.Away, a)
		}
	}
	s.Restore(c)
}

// Check returns an error for a state that a schedule cannot have.
func (s *Schedule) Check(c State) error {
	if c.Now < 0 || c.Steps < 0 || len(c.Flying) > s.cfg.Concurrency {
		return fmt.Errorf("a clock at %d ns after %d steps with %d clients at work, of %d at most", c.Now, c.Steps, len(c.Flying), s.cfg.Concurrency)
	}
	seen := make(map[int]bool, len(c.Flying)+len(c.Away))
	for _, j := range c.Flying {
		if j.Client < 0 || j.Client >= s.cfg.Clients || seen[j.Client] || j.Base < 0 || j.Base > c.Steps || j.Sequence >= c.Next || j.Start > j.End {
			return fmt.Errorf("a clock with an impossible job of client %d", j.Client)
		}
		seen[j.Client] = true
	}
	for _, a := range c.Away {
		if s.chooser == nil || a.Client < 0 || a.Client >= s.cfg.Clients || seen[a.Client] {
			return fmt.Errorf("a clock that cannot have found client %d away", a.Client)
		}
		seen[a.Client] = true
	}
	return nil
}

// Now returns the time.
func (s *Schedule) Now() int64 { return s.state.Now }

// Working returns how many clients are at work.
func (s *Schedule) Working() int { return len(s.state.Flying) }

// Oldest returns how many steps had been made when the first of the clients at work began;
// without any, how many have been made.
func (s *Schedule) Oldest() int {
	oldest := s.state.Steps
	for i := range s.state.Flying {
		oldest = min(oldest, s.state.Flying[i].Base)
	}
	return oldest
}

// Live calls f with the jobs at work that may still be taken.
func (s *Schedule) Live(f func(j *Job)) {
	for i := range s.state.Flying {
		if j := &s.state.Flying[i]; j.Fate == Took && s.state.Steps-j.Base <= s.cfg.MaxStaleness {
			f(j)
		}
	}
}

// Next returns the next step; its slices belong to the schedule, and change with the
// step after. The error comes from the chooser, or from a fleet that cannot go on.
func (s *Schedule) Next(ctx context.Context, work Work) (*Step, error) {
	s.step = Step{Start: s.state.Now, Taken: s.step.Taken[:0], Lost: s.step.Lost[:0]}
	s.before = State{Now: s.state.Now, Steps: s.state.Steps, Next: s.state.Next}
	s.left, s.back = s.left[:0], s.back[:0]
	next := s.nextRound
	if s.cfg.Async {
		next = s.nextUpdates
	}
	if err := next(ctx, work); err != nil {
		return nil, err
	}
	s.state.Now = nanos.Add(s.state.Now, s.cfg.Server)
	s.state.Steps++
	s.step.End = s.state.Now
	return &s.step, nil
}

// start has a client begin a job.
func (s *Schedule) start(place, client int, work Work) Job {
	j := Job{Client: client, Place: place, Sequence: s.state.Next, Start: s.state.Now, Base: s.state.Steps}
	s.state.Next++
	load := work(place, client, 0)
	j.Slot = load.Slot
	o := s.run(&j, load)
	if due := nanos.Add(s.state.Now, s.cfg.Deadline); s.cfg.Partial && s.cfg.Deadline > 0 && o.End > due {
		j.Steps = sort.Search(max(load.Steps-1, 0), func(steps int) bool { return s.run(&j, work(place, client, steps+1)).End > due })
		if j.Steps > 0 {
			o = s.run(&j, work(place, client, j.Steps))
		}
	}
	j.Received, j.Computed, j.End = o.Received, o.Computed, o.End
	if o.Failed {
		j.Fate = Failed
	}
	return j
}

// run says how a job goes with a load.
func (s *Schedule) run(j *Job, l Load) fleet.Outcome {
	return s.fleet.Run(fleet.Job{Client: j.Client, Sequence: s.cfg.Jitter + j.Sequence, Start: j.Start, FLOPs: l.FLOPs, Down: l.Down, Up: l.Up})
}

// present are the clients that are there, for draws where nearly all are away: a client is
// looked at once until that may change. It follows from the time, and is no part of a State.
type present struct {
	fleet     Fleet
	there     order.Bag[int32]
	come, out []Away // heaps: until when clients are there, and are away
}

// look returns those that are there now. It looks at all clients the first time.
func (s *Schedule) look() *present {
	p := s.present
	if p == nil {
		p = &present{fleet: s.fleet, there: order.NewBag[int32](s.cfg.Clients, nil, func(int) bool { return true })}
		for client := range s.cfg.Clients {
			p.add(client, s.state.Now)
		}
		s.present = p
	}
	for _, heap := range []*[]Away{&p.come, &p.out} {
		for len(*heap) > 0 && (*heap)[0].Until <= s.state.Now {
			var a Away
			if a, *heap = order.Pop(*heap, (*Away).before); heap == &p.come {
				p.there.Take(a.Client)
			}
			p.add(a.Client, s.state.Now)
		}
	}
	return p
}

// add sorts in a client.
func (p *present) add(client int, now int64) {
	on, until := p.fleet.Available(client, now)
	heap := &p.out
	if on {
		heap = &p.come
		p.there.Put(client)
	}
	if until < math.MaxInt64 {
		*heap = order.Push(*heap, Away{client, max(until, now+1)}, (*Away).before)
	}
}

// any reports whether one of them is in a set.
func (p *present) any(in func(client int) bool) bool {
	for i := range p.there.Len() {
		if in(p.there.At(int32(i))) {
			return true
		}
	}
	return false
}

// change returns when another one may come, math.MaxInt64 for never.
func (p *present) change() int64 {
	if len(p.out) == 0 {
		return math.MaxInt64
	}
	return p.out[0].Until
}
