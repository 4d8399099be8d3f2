package estimate

import (
	"testing"
	"time"

	"github.com/fedfast/fedfast/nn"
)

func TestSeconds(t *testing.T) {
	m := logistic(t)
	small, large := 4/0.002, 16/0.005 // a step of 4 takes 2 ms, one of 16 takes 5 ms
	for name, c := range map[string]struct {
		workers int
		work    []Work
		seconds float64
		rate    float64
	}{
		"nothing":     {2, nil, 0, 0},
		"one worker":  {1, []Work{{Step: stepOf(m, 4), Examples: 2e6}}, 2e6 / small / 0.85, small},
		"two workers": {2, []Work{{Step: stepOf(m, 4), Examples: 2e6}}, 2e6 / small / 1.7, small},
		"five tasks":  {2, []Work{{Step: stepOf(m, 4), Examples: 2e6, Tasks: 5}}, 2e6 / small / (5.0 / 3 * 0.85), small},
		"one task":    {8, []Work{{Step: stepOf(m, 4), Examples: 2e6, Tasks: 1}}, 2e6 / small / 0.85, small},
		"two batches": {
			1,
			[]Work{{Step: stepOf(m, 4), Examples: 2e6}, {Step: stepOf(m, 16), Examples: 32e6}},
			(2e6/small + 32e6/large) / 0.85, 34e6 / (2e6/small + 32e6/large),
		},
		"no examples": {1, []Work{{Step: stepOf(m, 4)}, {Step: stepOf(m, 16), Examples: 1}}, 1 / large / 0.85, large},
	} {
		f := newFake(time.Millisecond, 250*time.Microsecond)
		e, err := f.Seconds(t.Context(), c.workers, c.work...)
		if err != nil || !near(e.Seconds, c.seconds) || !near(e.Rate, c.rate) || e.Workers != c.workers {
			t.Errorf("%s: %+v, %v; want %v s, %v examples a second", name, e, err, c.seconds, c.rate)
		}
	}
	if e, err := newFake(0, 1).Seconds(t.Context(), 0); err != nil || e.Workers < 1 {
		t.Errorf("0 workers are %+v, %v", e, err)
	}
}

func TestEvaluatedIsCheaper(t *testing.T) {
	m := logistic(t)
	if x := Evaluated(m, 300); !(x > 75 && x <= 150) {
		t.Errorf("300 evaluated examples count as %v trained ones", x)
	}
	if x := Evaluated(&nn.Model{}, 300); x != 0 {
		t.Errorf("a model without operations: %v", x)
	}
}
