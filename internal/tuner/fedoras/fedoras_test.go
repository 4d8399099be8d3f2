package fedoras_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/playtest"
	"github.com/fedfast/fedfast/internal/tuner/fedoras"
	"github.com/fedfast/fedfast/tuners"
)

// request is a study of 8 choices of 3 options, 6,561 sub-networks.
func request() tuners.OpenRequest {
	space := tuners.Space{}
	for d := range 8 {
		space = append(space, tuners.Dim{
			Name: "client.arch.c" + strconv.Itoa(d), Kind: tuners.Choice,
			Choices: []tuners.Value{tuners.Num(1), tuners.Num(2), tuners.Num(3)},
		})
	}
	space = append(space, tuners.Dim{Name: "client.lr", Kind: tuners.Log10, Lo: -3, Hi: 0})
	return tuners.OpenRequest{Space: space, Seed: 4, Trial: tuners.StudySession, Budget: tuners.Budget{
		Rounds:      100,
		TrialRounds: 50,
	}}
}

// made makes a sub-network's score up: every choice has a right option, which costs more
// than others in half of them.
func made(p tuners.Params) tuners.Measured {
	m := tuners.Measured{FLOPs: 1e6, Score: 0.9}
	for d := range 8 {
		x := p.Float("client.arch.c"+strconv.Itoa(d), 3)
		m.FLOPs += 1e6 * x
		m.Score -= 0.1 * math.Exp(-math.Abs(x-float64(1+d%3)))
	}
	return m
}

// TestSearchBeatsDraws plays a study whose best network is one of 6,561, of which 256
// are scored; those that are trained on must be in tiers and the best of what was seen.
func TestSearchBeatsDraws(t *testing.T) {
	var scored []tuners.Measured
	study := playtest.Study{
		Tuner: fedoras.Tuner, Request: request(), Forked: func(_, source int) {
			if source != 0 {
				t.Errorf("a fork of trial %d", source)
			}
		},
		Measure: func(p tuners.Params) tuners.Measured {
			scored = append(scored, made(p))
			return made(p)
		},
		Score: func(_ int, p tuners.Params, _ int) float64 { return made(p).Score },
	}
	r := study.Play(t)
	if len(scored) != 8*32 {
		t.Errorf("%d sub-networks were scored, want %d", len(scored), 8*32)
	}
	drawn, all := math.Inf(1), math.Inf(1)
	for i, m := range scored {
		if i < 32 {
			drawn = min(drawn, m.Score)
		}
		all = min(all, m.Score)
	}
	// The best of 6,561 scores 0.1, and of as many random ones 0.19 on average.
	if all > 0.165 || all >= drawn {
		t.Errorf("the search came to %.3f, the first generation's best is %.3f", all, drawn)
	}
	if len(r.Params) < 3 || r.Spent > 100 {
		t.Fatalf("%d trials, %d rounds: %v", len(r.Params), r.Spent, r.Log)
	}
	last := 0.0
	for trial, p := range r.Ordered() {
		m := made(p)
		if trial == 0 {
			if m.FLOPs != 25e6 || r.Rounds[0] != 40 {
				t.Errorf("the supernet is trained as %v to round %d", p, r.Rounds[0])
			}
			continue
		}
		if m.FLOPs <= last || p["client.lr"] != r.Params[0]["client.lr"] || r.Rounds[trial] != 50 {
			t.Errorf("trial %d has %v, after one of %v FLOPs", trial, p, last)
		}
		last = m.FLOPs
		lo, hi := 9e6*math.Pow(25./9, math.Floor(4*math.Log(m.FLOPs/9e6)/math.Log(25./9))/4),
			9e6*math.Pow(25./9, math.Floor(1+4*math.Log(m.FLOPs/9e6)/math.Log(25./9))/4)
		for _, o := range scored {
			if o.FLOPs > lo && o.FLOPs < hi && o.Score < m.Score {
				t.Errorf("trial %d has a score of %v, one of its tier %v", trial, m.Score, o.Score)
			}
		}
	}
	if best := made(r.Params[r.Best]); best.Score != all {
		t.Errorf("its choice, trial %d, has %v, the best is %v", r.Best, best.Score, all)
	}
	study.Reopened(t, 1, 3)
}

// TestRoundsDrawUniformly wants each option as often in the supernet's rounds, and the
// trial's own network after them and in tests.
func TestRoundsDrawUniformly(t *testing.T) {
	req := request()
	req.Trial = 0
	s, err := fedoras.Tuner.Open(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]map[float64]int{}
	plan := func(round int, purpose tuners.Purpose) []tuners.Params {
		p, err := s.PlanRound(t.Context(), tuners.PlanRequest{Round: round, Slots: 30, Purpose: purpose})
		if err != nil {
			t.Fatal(err)
		}
		return p.Clients
	}
	for round := range 40 {
		for _, p := range plan(round, tuners.Train) {
			for name := range p {
				if counts[name] == nil {
					counts[name] = map[float64]int{}
				}
				counts[name][p.Float(name, 0)]++
			}
		}
	}
	for name, by := range counts {
		for option, n := range by {
			if math.Abs(float64(n)-400) > 60 { // 3.7 standard deviations
				t.Errorf("%s = %v in %d of 1,200 draws", name, option, n)
			}
		}
	}
	if len(counts) != 8 || len(plan(40, tuners.Train)[0]) != 0 || len(plan(3, tuners.Test)[0]) != 0 {
		t.Errorf("%d choices are drawn", len(counts))
	}
}

// TestValidate wants one line for each thing that is wrong.
func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		change func(r *tuners.ValidateRequest)
		want   string
	}{
		{
			func(r *tuners.ValidateRequest) { r.Options = tuners.Params{"tune_rounds": tuners.Num(50)} },
			"50 of the 50 rounds of a trial",
		},
		{
			func(r *tuners.ValidateRequest) { r.Budget.Rounds = 79 },
			"40 rounds for the supernet and 10 for each of 4 networks are 80, more than 79",
		},
		{func(r *tuners.ValidateRequest) { r.Space = r.Space.Matching("client.lr") }, "use method \"supernet\""},
		{
			func(r *tuners.ValidateRequest) { r.Options = tuners.Params{"population": tuners.Num(3)} },
			"population must be an integer from 4",
		},
	} {
		req := request()
		v := tuners.ValidateRequest{Space: req.Space, Budget: req.Budget}
		tt.change(&v)
		problems, err := fedoras.Tuner.Validate(t.Context(), v)
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, tt.want) {
			t.Errorf("problems %v (%v), want %s", problems, err, tt.want)
		}
	}
}
