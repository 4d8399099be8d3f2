// Package rogue serves a small random search that is right, and the same wrong in
// many ways, for tests of hosts and of checks.
package rogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fedfast/fedfast/tuners"
)

// Modes are the ways in which the tuner is wrong; "good" is the one in which it is
// right.
var Modes = []string{
	"anonymous", "careless", "clinging", "crash", "endless", "flood", "forgetful", "garrulous", "good", "hang", "huge",
	"immortal", "loud", "loud-error",
	"loud-panic", "loud-param", "moody", "mute", "nan", "nosy", "outside", "overspender", "severed", "sharing", "slow",
	"sore", "stranger", "strict", "timid", "torrent",
}

// Serve serves the tuner in one of the modes, under the mode's name. It returns
// when the host has ended it.
func Serve(mode string) {
	t := tuner{mode: mode}
	switch mode {
	case "huge":
		serveRaw(t, hugeState)
	case "severed":
		serveRaw(t, severs)
	case "immortal":
		serveRaw(t, nil) // as tuners.Serve, but it does not watch its host
	default:
		tuners.Serve(t)
	}
}

// tuner is random search over floor(rounds / trial_rounds) trials.
type tuner struct{ mode string }

// Describe says what the tuner is.
func (t tuner) Describe(context.Context) (tuners.Description, error) {
	d := tuners.Description{
		Name: t.mode, Version: "1.0.0", Doc: "Random search for tests.", Trials: true,
		Options: []tuners.Option{{Name: "trials", Default: tuners.Num(0), Doc: "maximum number of trials; 0: no limit"}},
	}
	switch t.mode {
	case "anonymous":
		d.Name = "nobody"
	case "loud":
		d.Version = noise
	case "mute":
		if described++; described > 1 { // the first one is Serve's
			time.Sleep(time.Hour)
		}
	case "nosy":
		d.Probes = []string{"weights"}
	}
	return d, nil
}

// described counts the calls of Describe.
var described int

// noise is long and clears the screen.
var noise = "\x1b[2J" + strings.Repeat("A\n", 1<<19)

// Validate checks the options.
func (t tuner) Validate(ctx context.Context, req tuners.ValidateRequest) ([]tuners.Problem, error) {
	switch t.mode {
	case "careless":
		return nil, nil
	case "strict":
		return []tuners.Problem{{Key: "space", Message: "nothing is good enough"}}, nil
	}
	d, err := t.Describe(ctx)
	return d.CheckOptions(req.Options), err
}

// shared is what the sessions of the mode "sharing" must not share.
var shared int

// Open starts a session or continues one.
func (t tuner) Open(_ context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	s := &session{mode: t.mode, req: req, state: state{Best: -1}}
	if req.State != nil && t.mode != "forgetful" {
		return s, json.Unmarshal(req.State, &s.state)
	}
	return s, nil
}

// state is all that a session knows.
type state struct {
	Next, Best int
	Running    bool
	Score      float64
}

type session struct {
	tuners.TrialsOnly
	mode  string
	req   tuners.OpenRequest
	state state
}

// Suggest starts the next trial.
func (s *session) Suggest(context.Context, int) ([]tuners.Decision, error) {
	st := &s.state
	trials := s.req.Budget.Rounds / s.req.Budget.TrialRounds
	if n := s.req.Options.Int("trials", 0); n > 0 {
		trials = min(n, trials)
	}
	if s.mode == "overspender" {
		trials++
	}
	if st.Running {
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	}
	if st.Next == trials && s.mode != "endless" {
		return []tuners.Decision{{Kind: tuners.Done, Best: st.Best}}, nil
	}
	if s.mode == "endless" && st.Next > 0 { // it never ends: one trial goes on for ever
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	}
	if s.mode == "slow" {
		time.Sleep(30 * time.Millisecond)
	}
	point := s.req.Space.Sample(tuners.NewDraws(s.req.Seed, st.Next, 0, "rogue"))
	d := tuners.Decision{Kind: tuners.Start, Trial: st.Next, Params: point, ToRound: s.req.Budget.TrialRounds}
	if st.Next == 2 && s.mode == "loud-error" {
		return nil, errors.New(noise)
	}
	if st.Next == 2 {
		s.misbehave(&d)
	}
	st.Next, st.Running = st.Next+1, true
	return []tuners.Decision{d}, nil
}

// misbehave does what the mode is about, in the third decision.
func (s *session) misbehave(d *tuners.Decision) {
	first := slices.Sorted(func(yield func(string) bool) {
		for _, dim := range s.req.Space {
			if dim.Kind != tuners.Choice && !yield(dim.Name) {
				return
			}
		}
	})[0]
	switch s.mode {
	case "nan":
		d.Params[first] = tuners.Num(math.NaN())
	case "outside":
		d.Params[first] = tuners.Num(1e9)
	case "stranger":
		*d = tuners.Decision{Kind: tuners.Resume, Trial: 77, ToRound: s.req.Budget.TrialRounds}
	case "hang":
		time.Sleep(time.Hour)
	case "loud-panic":
		panic(noise)
	case "loud-param":
		d.Params[noise] = tuners.Num(1)
	case "moody":
		d.Params = s.req.Space.Sample(tuners.NewDraws(uint64(time.Now().UnixNano()), 0, 0, "rogue"))
	case "sharing":
		shared++
		d.Params = s.req.Space.Sample(tuners.NewDraws(uint64(shared), 0, 0, "rogue"))
	case "garrulous":
		fmt.Println("the third trial begins")
	case "flood": // 32 MiB to stderr, a part of it without a newline
		for range 16 {
			_, _ = syscall.Write(2, []byte(strings.Repeat("lorem ipsum\n", 1<<20/12)))
			_, _ = syscall.Write(2, []byte(strings.Repeat("x", 1<<20)))
		}
	case "torrent": // the same to the stdout of the handshake
		for range 16 {
			_, _ = syscall.Write(1, []byte(strings.Repeat("lorem ipsum\n", 1<<20/12)))
			_, _ = syscall.Write(1, []byte(strings.Repeat("x", 1<<20)))
		}
	}
}

// Report keeps the best score.
func (s *session) Report(_ context.Context, r tuners.TrialReport) error {
	st := &s.state
	st.Running = false
	switch {
	case r.Unusable() && s.mode == "timid":
		return errors.New("a trial has failed")
	case r.Unusable() && s.mode == "crash":
		_, _ = syscall.Write(2, []byte("no idea what to do with a failed trial\n"))
		os.Exit(9)
	case !r.Unusable() && (st.Best < 0 || s.req.Objective.Better(r.Score, st.Score)):
		st.Best, st.Score = r.Trial, r.Score
	}
	return nil
}

// Close ends the session.
func (s *session) Close(context.Context) error {
	switch s.mode {
	case "clinging":
		time.Sleep(time.Hour)
	case "sore":
		return errors.New("it was not my turn")
	}
	return nil
}

// State returns what Open needs.
func (s *session) State() []byte {
	b, err := json.Marshal(s.state)
	if err != nil {
		panic(err) // numbers only, and finite ones
	}
	return b
}
