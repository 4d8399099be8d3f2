package options_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

func TestReader(t *testing.T) {
	d := tuners.Description{Name: "x", Options: []tuners.Option{
		{Name: "eta", Default: tuners.Num(3)},
		{Name: "points", Default: tuners.Num(4)},
		{Name: "trials", Default: tuners.Num(0)},
	}}
	r := options.Read(d, tuners.Params{
		"eta": tuners.Num(2.5), "points": tuners.Str("many"), "trials": tuners.Num(7),
		"arms": tuners.Num(1),
	})
	if eta, points, trials := r.Whole("eta", 2, 10), r.Whole("points", 1, 10), r.Whole("trials", 0, 10); eta != 3 ||
		points != 4 || trials != 7 {
		t.Errorf("eta %d, points %d, trials %d; want the defaults 3 and 4 for the bad ones, and 7", eta, points, trials)
	}
	var text []string
	for _, p := range r.Problems {
		text = append(text, p.Key+": "+p.Message)
	}
	got := strings.Join(text, "\n")
	want := `options.arms: x has no option "arms"; available: eta, points, trials
options.points: points must be a number, such as 4, not many
options.eta: eta must be an integer from 2 to 10, not 2.5`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, x := range []float64{-1, 11, 1e300} {
		if r := options.Read(d, tuners.Params{"trials": tuners.Num(x)}); r.Whole("trials", 0, 10) != 0 ||
			len(r.Problems) != 1 {
			t.Errorf("trials = %v: %v", x, r.Problems)
		}
	}
}

func TestReals(t *testing.T) {
	d := tuners.Description{Name: "x", Options: []tuners.Option{
		{Name: "eps", Default: tuners.Num(0.1)},
		{Name: "alpha", Default: tuners.Num(0.5)},
		{Name: "fast", Default: tuners.Bool(true)},
	}}
	r := options.Read(d, tuners.Params{"eps": tuners.Num(2), "alpha": tuners.Str("half"), "fast": tuners.Bool(false)})
	unit := func(x float64) bool { return x >= 0 && x <= 1 }
	if eps, alpha, fast := r.Real("eps", "from 0 to 1", unit), r.Real("alpha", "from 0 to 1", unit),
		r.Truth("fast"); eps != 0.1 || alpha != 0.5 || fast {
		t.Errorf("eps %v, alpha %v, fast %v; want the defaults of the bad ones, and false", eps, alpha, fast)
	}
	if len(r.Problems) != 2 || r.Problems[1].Message != "eps must be from 0 to 1, not 2" {
		t.Errorf("problems %v", r.Problems)
	}
	if r := options.Read(d, tuners.Params{"eps": tuners.Num(0.7)}); r.Real("eps", "from 0 to 1", unit) != 0.7 ||
		len(r.Problems) != 0 {
		t.Errorf("a good number is refused: %v", r.Problems)
	}
}

func TestOpen(t *testing.T) {
	if err := options.Open("x", 3, nil); !errors.Is(err, tuners.ErrUnsupported) {
		t.Errorf("a trial's session: %v", err)
	}
	err := options.Open("x", tuners.StudySession, []tuners.Problem{{Key: "options.eta", Message: "too small"}})
	if err == nil || err.Error() != "x: options.eta: too small" {
		t.Errorf("a problem: %v", err)
	}
	if err := options.Open("x", tuners.StudySession, nil); err != nil {
		t.Error(err)
	}
}
