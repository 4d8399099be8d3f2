package fleet

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

const second = int64(1e9)

// Two-state Markov: the share of clients that are on, how long they stay, and that the
// state some time later has the chain's probability.
func TestMarkov(t *testing.T) {
	const n, on, off = 20_000, 300., 700.
	f := made(t, Config{Availability: "markov", On: on, Off: off}, 4, n)
	p, now, later := on/(on+off), int64(5000)*second, int64(5150)*second
	var k, stays, comes float64
	var left float64
	for c := range n {
		is, until := f.Available(c, now)
		then, _ := f.Available(c, later)
		switch {
		case is:
			k, left = k+1, left+float64(until-now)/1e9
			if then {
				stays++
			}
		case then:
			comes++
		}
	}
	// Chi-square of one degree of freedom at 1e-6.
	chi := func(what string, hits, of, share float64) {
		if x := (hits - of*share) * (hits - of*share) / (of * share * (1 - share)); x > 23.9 {
			t.Errorf("%s: %v of %v, want a share of %v (chi-square %v)", what, hits, of, share, x)
		}
	}
	decay := math.Exp(-150 * (1/on + 1/off))
	chi("on", k, n, p)
	chi("on, of those that were", stays, k, p+(1-p)*decay)
	chi("on, of those that were off", comes, n-k, p*(1-decay))
	near(t, "mean time left of the stay", left/k, on, 5*on/math.Sqrt(k))
	start := 0.0
	for c := range n {
		if is, _ := f.Available(c, 0); is {
			start++
		}
	}
	chi("on at the start", start, n, p)
}

func TestDaily(t *testing.T) {
	const n = 20_000
	share := func(cfg Config, hour float64) float64 {
		cfg.Availability = "daily"
		f, k := made(t, cfg, 2, n), 0.
		for c := range n {
			if on, _ := f.Available(c, int64(hour*3600)*second); on {
				k++
			}
		}
		return k / n
	}
	within := 5 * math.Sqrt(0.25/n)
	// Within a zone clocks differ by up to an hour.
	mixed := func(mean, swing float64, h int) float64 {
		at := func(h int) float64 { return mean + swing*math.Cos(2*math.Pi*float64(h-2)/24) }
		return (at(h) + at(h+1)) / 2
	}
	near(t, "at 2:30", share(Config{Mean: 0.5, Swing: 0.4}, 2.5), mixed(0.5, 0.4, 2), within)
	near(t, "at 14:30", share(Config{Mean: 0.5, Swing: 0.4}, 14.5), mixed(0.5, 0.4, 14), within)
	near(t, "at 20:30, third day", share(Config{Mean: 0.5, Swing: 0.4}, 68.5), mixed(0.5, 0.4, 20), within)
	near(t, "defaults at 2:30", share(Config{}, 2.5), mixed(0.16, 0.16, 2), within)
	near(t, "all zones", share(Config{Mean: 0.5, Swing: 0.4, Zones: 24}, 7), 0.5, within)
	near(t, "cut at 1", share(Config{Mean: 0.9, Swing: 0.5}, 2.5), 1, 0)
}

// What Available says holds until the time that it gives.
func TestUntil(t *testing.T) {
	path := filepath.Join(t.TempDir(), "times.csv")
	write(t, path, "client,start,end\na,0,10\nb,5,2000\na,10,20.5\na,3000,3600\n")
	for _, cfg := range []Config{
		{Availability: "markov", On: 50, Off: 70},
		{Availability: "markov", On: 5000, Off: 1},
		{Availability: "markov", On: 1e8, Off: 1e8},
		{Availability: "daily", Mean: 0.5, Zones: 3},
		{Availability: path, Assign: "draw", Period: 3600},
	} {
		f := made(t, cfg, 1, 20)
		for c := range 20 {
			changes := 0
			for at := int64(0); at < 100_000*second && changes < 300; {
				on, until := f.Available(c, at)
				if until <= at {
					t.Fatalf("%s: client %d at %d: until %d", cfg.Availability, c, at, until)
				}
				for _, share := range []float64{0.3, 0.7} {
					between := at + int64(share*float64(min(until, 1<<50)-at))
					if still, end := f.Available(c, between); still != on || end < until {
						t.Fatalf("%s: client %d is %v from %d until %d, but %v until %d at %d", cfg.Availability, c, on,
							at, until, still, end, between)
					}
				}
				if still, _ := f.Available(c, until-1); still != on {
					t.Fatalf("%s: client %d at %d - 1 has changed", cfg.Availability, c, until)
				}
				at = until
				changes++
			}
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestIntervalsOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "times.csv")
	write(t, path, "client,start,end\nc0,1,2\nc1,0,0.5\nc0,2,4.5\nc1,5,6\n")
	for _, c := range []struct {
		period float64
		client int
		at     float64
		on     bool
		until  float64 // 0: never
	}{
		{0, 0, 0, false, 1},
		{0, 0, 1, true, 2},
		{0, 0, 2, true, 4.5},
		{0, 0, 4.5, false, 0},
		{0, 1, 0, true, 0.5},
		{0, 1, 0.5, false, 5},
		{6, 0, 4.5, false, 7},
		{6, 0, 13, true, 14},
		{6, 1, 5.5, true, 6},
		{6, 1, 6, true, 6.5},
		{6, 1, 6000.75, false, 6005},
	} {
		f := made(t, Config{Availability: path, Period: c.period}, 1, 2)
		want := int64(c.until * 1e9)
		if want == 0 {
			want = math.MaxInt64
		}
		if on, until := f.Available(c.client, int64(c.at*1e9)); on != c.on || until != want {
			t.Errorf("%+v: got %v until %d", c, on, until)
		}
	}
	draw := made(t, Config{Availability: path, Assign: "draw"}, 1, 1000)
	k := 0
	for c := range 1000 {
		if on, _ := draw.Available(c, 0); on {
			k++
		}
	}
	near(t, "share of clients that drew c1", float64(k)/1000, 0.5, 5*math.Sqrt(0.25/1000))
}

func TestJobs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "times.csv")
	write(t, path, "client,start,end\nc0,0,3\nc0,10,11\nc0,20,90\n")
	job := Job{Start: second, FLOPs: 20e9, Down: 1_250_000, Up: 1_250_000} // 1, 2 and 1 seconds
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{}, "2 4 5 false"},
		{Config{Latency: 0.5}, "2.5 4.5 5.5 false"},
		{Config{BF16Speedup: 2, BF16: true}, "2 3 4 false"},
		{Config{BF16Speedup: 2}, "2 4 5 false"},
		{Config{
			Devices: "classes", Shares: []float64{1}, FLOPS: []float64{40e9},
			Down: []float64{5e6},
		}, "1.25 1.75 2.75 false"},
		{Config{Availability: path}, "2 3 3 true"},
		{Config{Availability: path, Offline: "pause"}, "2 11 21 false"},
		{Config{Dropout: 1}, "2 2.5 2.5 true"},
	} {
		f := made(t, c.cfg, 1, 1)
		o := f.Run(job)
		if c.cfg.Dropout == 1 { // at a uniform share
			if !o.Failed || o.End <= second || o.End >= 5*second || o.Received != min(2*second, o.End) ||
				o.Computed != min(4*second, o.End) {
				t.Errorf("%+v: %+v", c.cfg, o)
			}
			continue
		}
		if got := fmt.Sprintf("%v %v %v %v", float64(o.Received)/1e9, float64(o.Computed)/1e9,
			float64(o.End)/1e9, o.Failed); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.cfg, got, c.want)
		}
	}
	f := made(t, Config{Availability: path, Offline: "pause"}, 1, 1)
	if o := f.Run(Job{Start: 85 * second, FLOPs: 60e9}); !o.Failed || o.End != 90*second {
		t.Errorf("a client that never comes back: %+v", o)
	}
	if o := made(t, Config{}, 1, 1).Run(Job{FLOPs: 1e300, Up: math.MaxInt64}); o.End != math.MaxInt64 || o.Failed {
		t.Errorf("an endless job: %+v", o)
	}
}

// The share of jobs that fail, and when.
func TestFailures(t *testing.T) {
	const n = 20_000
	for _, c := range []struct {
		cfg        Config
		share, end float64
	}{
		{Config{Dropout: 0.3}, 0.3, 50},
		{Config{Hazard: 0.01}, 1 - math.Exp(-1), (1 - 2*math.Exp(-1)) / (1 - math.Exp(-1)) * 100},
	} {
		f := made(t, c.cfg, 6, 1)
		var failed, ends float64
		for i := range n {
			o := f.Run(Job{Sequence: uint64(i), FLOPs: 1e12}) // 100 seconds
			if o.Failed {
				failed, ends = failed+1, ends+float64(o.End)/1e9
			} else if o.End != 100*second {
				t.Fatalf("a job that did not fail: %+v", o)
			}
		}
		near(t, "share of failures", failed/n, c.share, 5*math.Sqrt(c.share*(1-c.share)/n))
		near(t, "mean time of failures", ends/failed, c.end, 5*29/math.Sqrt(failed))
	}
}
