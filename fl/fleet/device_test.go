package fleet

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// made returns the fleet of n clients; client i has i%50 samples.
func made(t testing.TB, cfg Config, seed uint64, n int) *Fleet {
	t.Helper()
	f, err := New(cfg, seed, people(n))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func people(n int) []Client {
	clients := make([]Client, n)
	for i := range clients {
		clients[i] = Client{ID: fmt.Sprint("c", i), Samples: i % 50}
	}
	return clients
}

func TestProbit(t *testing.T) {
	for _, p := range []float64{1e-300, 1e-20, 1e-9, 0.001, 0.02, 0.075, 0.3, 0.5} {
		x := probit(p)
		if back := math.Erfc(-x/math.Sqrt2) / 2; math.Abs(back/p-1) > 1e-12*max(1, x*x) {
			t.Errorf("probit(%v) = %v, of which the probability is %v", p, x, back)
		}
	}
	if x := probit(0.975); math.Abs(x-1.959963984540054) > 1e-14 || probit(0.025)+x > 1e-14 {
		t.Errorf("probit(0.975) = %v and probit(0.025) = %v", x, probit(0.025))
	}
}

// A job of as many operations as the mean device does in a second lasts H_n seconds on
// the slowest of n exponential devices, H_n - H_(n-m) on the m-th.
func TestOrderStatisticsOfExponentialDevices(t *testing.T) {
	const n, m, fleets = 10, 7, 3000
	var slowest, mth, late float64
	for seed := range uint64(fleets) {
		f := made(t, Config{Devices: "exponential", FLOPS: []float64{1e6}}, seed, n)
		var times []float64
		for c := range n {
			s := float64(f.Run(Job{Client: c, FLOPs: 1e6}).End) / 1e9
			times = append(times, s)
			if s > 1.5 {
				late++
			}
		}
		slices.Sort(times)
		slowest, mth = slowest+times[n-1]/fleets, mth+times[m-1]/fleets
	}
	harmonic := func(n int) (h float64) {
		for k := 1; k <= n; k++ {
			h += 1 / float64(k)
		}
		return h
	}
	// Five standard errors: those of order statistics are below 1.3 seconds.
	near(t, "slowest", slowest, harmonic(n), 5*1.3/math.Sqrt(fleets))
	near(t, "m-th", mth, harmonic(n)-harmonic(n-m), 5*0.5/math.Sqrt(fleets))
	near(t, "share beyond a deadline", late/(n*fleets), math.Exp(-1.5), 5*0.42/math.Sqrt(n*fleets))
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, within)
	}
}

func TestDistributionsOfSpeed(t *testing.T) {
	const n = 20_000
	share := func(cfg Config, holds func(slower float64) bool) float64 {
		cfg.FLOPS = []float64{1000}
		f, k := made(t, cfg, 3, n), 0
		for c := range n {
			if holds(1000 / f.Device(c).FLOPS) {
				k++
			}
		}
		return float64(k) / n
	}
	zeta := 0.0
	for k := 1; k <= most; k++ {
		zeta += math.Pow(float64(k), -1.5)
	}
	for _, c := range []struct {
		name  string
		cfg   Config
		holds func(float64) bool
		want  float64
	}{
		{"pareto", Config{Devices: "pareto", Exponent: 3}, func(k float64) bool { return k > 1.5 }, math.Pow(1.5, -3)},
		{"pareto, default", Config{Devices: "pareto"}, func(k float64) bool { return k > 2 }, 0.25},
		{"zipf 1", Config{Devices: "zipf", Exponent: 1.5}, func(k float64) bool { return math.Abs(k-1) < 1e-9 }, 1 / zeta},
		{
			"zipf 3",
			Config{Devices: "zipf", Exponent: 1.5},
			func(k float64) bool { return math.Abs(k-3) < 1e-9 }, math.Pow(3, -1.5) / zeta,
		},
		{"lognormal median", Config{Devices: "lognormal", Sigma: 0.5}, func(k float64) bool { return k > 1 }, 0.5},
		{
			"lognormal sigma",
			Config{Devices: "lognormal", Sigma: 0.5},
			func(k float64) bool { return k > math.Exp(0.5) }, 0.158655,
		},
		{"exponential", Config{Devices: "exponential"}, func(k float64) bool { return k > 2 }, math.Exp(-2)},
	} {
		near(t, c.name, share(c.cfg, c.holds), c.want, 5*math.Sqrt(c.want*(1-c.want)/n))
	}
}

func TestClasses(t *testing.T) {
	const n = 20_000
	f := made(t, Config{
		Devices: "classes", Shares: []float64{2, 1, 1}, FLOPS: []float64{5, 9, 1},
		Up: []float64{100, 200, 300},
	}, 1, n)
	counts := map[Device]int{}
	for c := range n {
		counts[f.Device(c)]++
	}
	if len(counts) != 3 {
		t.Errorf("got %d classes: %v", len(counts), counts)
	}
	all := math.Inf(1)
	for d, want := range map[Device]float64{
		{5, 1.25e6, 100, all}: 0.5, {9, 1.25e6, 200, all}: 0.25,
		{1, 1.25e6, 300, all}: 0.25,
	} {
		near(t, fmt.Sprint(d), float64(counts[d])/n, want, 5*math.Sqrt(0.25/n))
	}
}

// TestColumnsOfDevices: a file may have seconds a sample in place of operations, and memory.
func TestColumnsOfDevices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "devices.csv")
	write(t, path, "client,seconds_per_sample,down,up,memory\nc0,0.5,10,20,100\nc1,0.25,10,20,99\n")
	clients := people(2)
	for i := range clients {
		clients[i].Memory = 100
	}
	f, err := New(Config{Devices: path, SampleFLOPs: 1000}, 1, clients)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := (Device{2000, 10, 20, 100}), (Device{4000, 10, 20, 99}); f.Device(0) != a || f.Device(1) != b {
		t.Errorf("%v, %v; want %v, %v", f.Device(0), f.Device(1), a, b)
	}
	if on, until := f.Available(1, 5); on || until != math.MaxInt64 || f.Able() != 1 || !f.Fits(0) {
		t.Errorf("a client with 99 of 100 bytes is there (%v), %d clients are able", on, f.Able())
	}
}

func TestCorrelation(t *testing.T) {
	const n = 5000
	clients := make([]Client, n)
	for i := range clients {
		clients[i].Samples = i * 7919 % n
	}
	for _, rho := range []float64{-1, -0.5, 0.3, 1} {
		f, err := New(Config{Devices: "phones", Correlation: rho}, 5, clients)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0 // of products of ranks
		for i, r := range f.rank {
			sum += (float64(r) - (n-1)/2.) * (float64(clients[i].Samples) - (n-1)/2.)
		}
		// Spearman's coefficient of a Gaussian copula.
		want := 6 / math.Pi * math.Asin(rho/2)
		near(t, fmt.Sprint("correlation ", rho), sum/(n*(float64(n)*n-1)/12), want, 5*math.Sqrt((1-want*want)/n)+1e-9)
		for i := range n - 1 {
			if a, b := slices.Index(f.rank, int32(i)), slices.Index(f.rank, int32(i+1)); i%500 == 0 &&
				f.Device(a).FLOPS > f.Device(b).FLOPS {
				t.Errorf("correlation %v: the device of rank %d is faster than the next", rho, i)
			}
		}
	}
}

// The median phone, and the anchors of the interpolation.
func TestPhones(t *testing.T) {
	near(t, "median", phoneSpeed(0.5)/1e9, 1.3, 0.01)
	near(t, "slowest", phoneSpeed(1e-9)/1e9, batchFLOPs/1642e-3/1e9*math.Pow(511./383,
		math.Log(1642./588)/math.Log(6702./383)), 1e-6)
	near(t, "Redmi Note 7 Pro", phoneSpeed(0.8+0.1*(6702-6284)/(7974-6284))/1e9, batchFLOPs/588e-3/1e9, 1e-9)
	const n = 30_000
	f := made(t, Config{Devices: "phones"}, 1, n)
	var down, first, speed float64
	for c := range n {
		o := f.Run(Job{Client: c, Down: 1e6})
		if r := f.device(c); r.Down == links[6][0]*1000 {
			speed += 1e6 / (float64(o.Received) / 1e9)
			first++
		}
		down += f.Device(c).Down / n
	}
	var mean float64
	for _, l := range links {
		mean += l[0] * 1000 / float64(len(links))
	}
	near(t, "mean download", down, mean, 5*3.5e6/math.Sqrt(n))
	near(t, "share of a user", first/n, 1./19, 5*math.Sqrt(1./19/n))
	near(t, "mean speed of a user's downloads", speed/first, links[6][0]*1000, 5*links[6][1]*1000/math.Sqrt(first))
}

// Answers depend on no other question, and neither on other seeds' fleets.
func TestOrderOfQuestions(t *testing.T) {
	const n = 200
	for _, cfg := range []Config{
		{Devices: "phones", Availability: "markov", Dropout: 0.2, Offline: "pause", Correlation: 0.5},
		{Devices: "lognormal", Availability: "daily", Zones: 8, Hazard: 1e-3, Jitter: 0.3},
	} {
		ask := func(f *Fleet, i int) Outcome {
			return f.Run(Job{Client: i % n, Sequence: uint64(i), Start: int64(i) * 1e12, FLOPs: 1e11, Down: 1e6, Up: 1e6})
		}
		a, b := made(t, cfg, 9, n), made(t, cfg, 9, n)
		var first []Outcome
		for i := range 5 * n {
			first = append(first, ask(a, i))
		}
		for i := 5*n - 1; i >= 0; i-- {
			if got := ask(b, i); got != first[i] {
				t.Fatalf("%v: job %d is %v, backwards %v", cfg, i, first[i], got)
			}
		}
		if other := made(t, cfg, 10, n); other.Device(0) == a.Device(0) {
			t.Error("another seed gives the same device")
		}
	}
}

// TestSameBits pins draws, so that a processor that rounds otherwise is found.
func TestSameBits(t *testing.T) {
	h := uint64(14695981039346656037)
	mix := func(x uint64) { h = (h ^ x) * 1099511628211 }
	for _, devices := range Kinds {
		cfg := Config{Devices: devices, Availability: "markov", Offline: "pause", Dropout: 0.1, Hazard: 1e-4}
		if devices == "classes" {
			cfg.Shares = []float64{1, 2}
		}
		f := made(t, cfg, 1, 500)
		for i := range 500 {
			d := f.Device(i)
			o := f.Run(Job{Client: i, Sequence: 3, Start: int64(i) * 1e11, FLOPs: 5e12, Down: 4e6, Up: 4e6})
			for _, x := range []uint64{
				math.Float64bits(d.FLOPS), math.Float64bits(d.Up), uint64(o.Received),
				uint64(o.Computed), uint64(o.End),
			} {
				mix(x)
			}
		}
	}
	f := made(t, Config{Availability: "daily", Zones: 24}, 1, 500)
	for i := range 500 {
		_, until := f.Available(i, int64(i)*1e12)
		mix(uint64(until))
	}
	if want := uint64(0xcd58ed88ebfacb35); h != want {
		t.Errorf("the draws changed: got %#x, want %#x", h, want)
	}
}

// A million clients take nothing unless something must be known of each.
func TestMemoryOfAMillionClients(t *testing.T) {
	clients := make([]Client, 1_000_000)
	for i := range clients {
		clients[i].Samples = i % 50
	}
	for _, c := range []struct {
		cfg     Config
		clients int
		most    uint64 // bytes
	}{
		{Config{}, 1_000_000, 100_000},
		{Config{Devices: "phones", Availability: "markov", Dropout: 0.1}, 1_000_000, 100_000},
		{Config{Devices: "zipf", Availability: "daily"}, 1_000_000, 200_000},
		{Config{Devices: "lognormal", Correlation: 0.5}, 100_000, 500_000},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		f, err := New(c.cfg, 1, clients[:c.clients])
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			f.Run(Job{Client: i * 97, FLOPs: 1e9, Down: 1, Up: 1})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(f)
		if got := after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc); got > c.most {
			t.Errorf("%+v: %d bytes, want at most %d", c.cfg, got, c.most)
		}
	}
	runtime.KeepAlive(clients)
}

func TestQuestionsAllocateNothing(t *testing.T) {
	for _, devices := range []string{"equal", "phones", "zipf", "lognormal"} {
		for _, times := range Patterns {
			f := made(t, Config{Devices: devices, Availability: times, Dropout: 0.1, Hazard: 1e-4}, 1, 100)
			i := 0
			if n := testing.AllocsPerRun(100, func() {
				i++
				f.Available(i%100, int64(i)*1e11)
				f.Run(Job{Client: i % 100, Sequence: uint64(i), Start: int64(i) * 1e11, FLOPs: 1e9, Down: 1e6, Up: 1e6})
			}); n > 0 {
				t.Errorf("%s, %s: %v allocations", devices, times, n)
			}
		}
	}
}

func BenchmarkRun(b *testing.B) {
	for _, devices := range []string{"equal", "phones", "zipf", "lognormal"} {
		for _, times := range Patterns {
			f := made(b, Config{Devices: devices, Availability: times, Dropout: 0.1}, 1, 100_000)
			b.Run(devices+"/"+times, func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					i++
					f.Run(Job{Client: i % 100_000, Sequence: uint64(i), Start: int64(i) * 1e9, FLOPs: 1e11, Down: 5e6, Up: 5e6})
				}
			})
		}
	}
}

func BenchmarkAvailable(b *testing.B) {
	for _, times := range Patterns {
		f := made(b, Config{Availability: times}, 1, 100_000)
		b.Run(times, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				f.Available(i%100_000, int64(i)*1e9)
			}
		})
	}
}
