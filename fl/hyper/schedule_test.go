package hyper

import (
	"math"
	"strings"
	"testing"
)

// TestSchedules compares rates with those that PyTorch's schedulers print, and the
// cosine with that of the standard library.
func TestSchedules(t *testing.T) {
	for _, tt := range []struct {
		Schedule
		lr   float64
		want []float64 // from time 0 on
	}{
		{Schedule{Kind: "constant"}, 0.5, []float64{0.5, 0.5}},
		// CosineAnnealingLR(T_max=4, eta_min=0.1)
		{Schedule{Kind: "cosine", Min: 0.1, Length: 4}, 1, []float64{
			1, 0.868198051533946, 0.55,
			0.231801948466054, 0.1, 0.1,
		}},
		{Schedule{Kind: "linear", Min: 0.2, Length: 4}, 1, []float64{1, 0.8, 0.6, 0.4, 0.2, 0.2}},
		// StepLR(step_size=2, gamma=0.5), not below 0.2
		{Schedule{Kind: "step", Every: 2, Factor: 0.5, Min: 0.2}, 1, []float64{1, 1, 0.5, 0.5, 0.25, 0.25, 0.2}},
		{Schedule{Kind: "constant", Warmup: 3}, 1, []float64{0.25, 0.5, 0.75, 1, 1}},
		{Schedule{Kind: "linear", Length: 6, Warmup: 2}, 0.9, []float64{0.3, 0.6, 0.9, 0.675, 0.45, 0.225, 0}},
		{Schedule{Kind: "cosine", Min: 5, Length: 4}, 1, []float64{1, 1, 1, 1, 1}}, // the least is above the rate
	} {
		for at, want := range tt.want {
			if got := tt.rate(tt.lr, at, tt.Length); math.Abs(got-want) > 1e-12 {
				t.Errorf("%+v of %v at time %d: %v, want %v", tt.Schedule, tt.lr, at, got, want)
			}
		}
	}
	for i := range 1001 {
		x := float64(i) / 1000
		if got, want := cosine(x), math.Cos(math.Pi/2*x); math.Abs(got-want) > 1e-15 {
			t.Errorf("cosine of %v: %v, want %v", x, got, want)
		}
	}
	c := DefaultClient()
	c.LR, c.Kind, c.Length = 1, "linear", 4
	if got := c.InRound(1); got.LR != 0.75 || got.RateAt(3, 9) != 0.75 || got.InRound(2).LR != 0.75 {
		t.Errorf("in round 1: %+v", got)
	}
	c.LROver, c.Length = "steps", 0
	if got := c.InRound(1); got.LR != 1 || got.RateAt(5, 10) != 0.5 {
		t.Errorf("over steps: %+v, %v", got.LR, got.RateAt(5, 10))
	}
	s := DefaultServer()
	s.LR, s.Decay, s.Kind, s.Every = 2, 0.5, "step", 1
	if got := s.Rate(2); math.Abs(got-2*0.01*0.25) > 1e-15 {
		t.Errorf("the server's rate is %v", got)
	}
}

func TestScheduleChecks(t *testing.T) {
	for _, tt := range []struct {
		change func(*Client)
		want   string
	}{
		{func(c *Client) { c.Kind = "cosine" }, `client.lr_length is not set: required by client.lr_schedule = "cosine"`},
		{func(c *Client) { c.Kind, c.LROver = "cosine", "steps" }, ""},
		{func(c *Client) { c.Length = 5 }, "client.lr_length = 5: only allowed with"},
		{func(c *Client) { c.Kind = "step" }, "client.lr_every is not set"},
		{func(c *Client) { c.Every = 1 }, "client.lr_every = 1: only allowed with"},
		{func(c *Client) { c.Factor = 0.5 }, "client.lr_factor = 0.5: only allowed with"},
		{func(c *Client) { c.Min = 0.5 }, "client.lr_min = 0.5: only allowed with client.lr_schedule = cosine or linear"},
		{
			func(c *Client) { c.Kind, c.Length, c.Warmup = "linear", 3, 3 },
			"client.lr_warmup = 3: must be below client.lr_length = 3",
		},
		{func(c *Client) { c.LROver = "steps" }, `client.lr_over = "steps": requires`},
		{func(c *Client) { c.LROver, c.Warmup = "steps", 3 }, ""},
	} {
		c := DefaultClient()
		tt.change(&c)
		err := c.Check()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("error %v, want one with %q", err, tt.want)
		}
	}
}
