package clock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
)

const second = int64(1e9)

// known is a fleet whose jobs take known times.
type known struct {
	takes func(j fleet.Job) (d int64, failed bool)
	on    func(client int, t int64) (bool, int64) // nil is always
}

func (k known) Available(client int, t int64) (bool, int64) {
	if k.on == nil {
		return true, math.MaxInt64
	}
	return k.on(client, t)
}

func (k known) Run(j fleet.Job) fleet.Outcome {
	d, failed := k.takes(j)
	end := nanos.Add(j.Start, d)
	return fleet.Outcome{Received: j.Start, Computed: end, End: end, Failed: failed}
}

// speeds is a fleet whose clients take one time each.
func speeds(takes ...int64) known {
	return known{takes: func(j fleet.Job) (int64, bool) { return takes[j.Client], false }}
}

func free(int, int, int) Load { return Load{} }

func async(clients, concurrency, buffer int) Config {
	return Config{
		Clients: clients, Async: true, Concurrency: concurrency, Buffer: buffer, Open: 1,
		MaxStaleness: math.MaxInt, DispatchKey: 7,
	}
}

func sync(clients, cohort, drawn int) Config {
	return Config{
		Clients: clients, Cohort: cohort, Drawn: drawn, MinUpdates: 1, MaxFailed: 10,
		CohortKey: func(round int) uint64 { return kernels.Key(7, uint64(round)) },
	}
}

func next(t testing.TB, s *Schedule) *Step {
	t.Helper()
	step, err := s.Next(context.Background(), free)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// TestTwoSpeeds has the arrivals and stalenesses of two clients of 1 s and 3 s, by hand.
func TestTwoSpeeds(t *testing.T) {
	for fast, want := range map[int][][3]int64{ // second, client, staleness
		0: {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {3, 1, 3}, {4, 0, 0}, {5, 0, 0}, {6, 0, 0}, {6, 1, 3}},
		1: {{1, 1, 0}, {2, 1, 0}, {3, 0, 2}, {3, 1, 1}, {4, 1, 0}, {5, 1, 0}, {6, 0, 2}, {6, 1, 1}},
	} {
		takes := []int64{3 * second, 3 * second}
		takes[fast] = second
		s := New(async(2, 2, 1), speeds(takes...), nil)
		var got [][3]int64
		for range want {
			j := next(t, s).Taken[0]
			got = append(got, [3]int64{j.End / second, int64(j.Client), int64(j.Staleness)})
		}
		if !slices.Equal(got, want) {
			t.Errorf("with the fast one as client %d: %v, want %v", fast, got, want)
		}
	}
}

// TestShares compares a fleet of fast and slow clients, all of which always work, with its
// closed forms: F + S/r updates a time, a staleness of F + S/r - 1 and of r(F + S/r) - 1,
// and F + S - 1 over all updates.
func TestShares(t *testing.T) {
	const fast, slow, r, time = 7, 5, 4, int64(1_000_000)
	first := map[int]bool{}
	f := known{takes: func(j fleet.Job) (int64, bool) {
		d := time
		if j.Client >= fast {
			d *= r
		}
		if !first[j.Client] { // phases without ties
			first[j.Client] = true
			return d + int64(j.Client)*(time/(fast+slow)), false
		}
		return d, false
	}}
	s := New(async(fast+slow, fast+slow, 1), f, nil)
	for range 500 {
		next(t, s)
	}
	const steps = 8250 // 1000 times
	var number, stale [2]float64
	begin := s.Now()
	for range steps {
		j := next(t, s).Taken[0]
		class := 0
		if j.Client >= fast {
			class = 1
		}
		number[class]++
		stale[class] += float64(j.Staleness)
	}
	rate := fast + slow/float64(r)
	for what, x := range map[string][2]float64{
		"updates a time":    {steps * float64(time) / float64(s.Now()-begin), rate},
		"share of the slow": {number[1] / steps, slow / float64(r) / rate},
		"staleness, fast":   {stale[0] / number[0], rate - 1},
		"staleness, slow":   {stale[1] / number[1], r*rate - 1},
		"staleness":         {(stale[0] + stale[1]) / steps, fast + slow - 1},
	} {
		if math.Abs(x[0]-x[1]) > 2e-3*x[1] {
			t.Errorf("%s: %v, want %v", what, x[0], x[1])
		}
	}
}

// exponential is a fleet of jobs with exponential times of mean 1 s.
func exponential() known {
	return known{takes: func(j fleet.Job) (int64, bool) {
		return int64(-det.Log(1-kernels.NewStream(3, j.Sequence).Float64()) * float64(second)), false
	}}
}

func harmonic(n int) (h float64) {
	for i := 1; i <= n; i++ {
		h += 1 / float64(i)
	}
	return h
}

// TestRoundsWaitForTheSlowest compares the times of rounds with order statistics of the
// exponential distribution, and the share that is late with e^-deadline.
func TestRoundsWaitForTheSlowest(t *testing.T) {
	const rounds = 20000
	run := func(c Config) (mean float64, taken, lost int) {
		s := New(c, exponential(), nil)
		for range rounds {
			step := next(t, s)
			taken, lost = taken+len(step.Taken), lost+len(step.Lost)
		}
		return float64(s.Now()) / float64(second) / rounds, taken, lost
	}
	close := func(what string, got, want, within float64) {
		t.Helper()
		if math.Abs(got-want) > within {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	mean, _, lost := run(sync(50, 10, 10))
	close("10 of 10", mean, harmonic(10), 0.04)
	close("10 of 10, lost", float64(lost), 0, 0)
	mean, _, lost = run(sync(50, 10, 13))
	close("10 of 13", mean, harmonic(13)-harmonic(3), 0.03)
	close("10 of 13, lost", float64(lost), 3*rounds, 0)
	c := sync(50, 10, 10)
	c.Deadline = 2 * second
	_, taken, lost := run(c)
	close("late after 2 s", float64(lost)/float64(lost+taken), math.Exp(-2), 0.002)
}

// TestStepsWait has the server take a second a step, and a round end without enough updates.
func TestStepsWait(t *testing.T) {
	c := async(2, 2, 1)
	c.Server = second
	s := New(c, speeds(second, 3*second), nil)
	var ends []int64
	for range 4 {
		ends = append(ends, next(t, s).End/second)
	}
	if want := []int64{2, 4, 5, 7}; !slices.Equal(ends, want) {
		t.Errorf("steps with a second of the server end at %v, want %v", ends, want)
	}

	c = sync(3, 3, 3)
	c.Deadline, c.MinUpdates, c.MaxFailed = 2*second, 3, 4
	slow := 2 // rounds
	f := known{takes: func(j fleet.Job) (int64, bool) {
		if j.Client == 1 && j.Sequence < uint64(3*slow) {
			return 5 * second, false
		}
		return second, false
	}}
	s = New(c, f, nil)
	step := next(t, s)
	if step.Failed != 2 || step.End != 5*second || len(step.Taken) != 3 || len(step.Lost) != 6 {
		t.Errorf("after two rounds of 2 s that fail: %+v", step)
	}
	slow = 100
	if _, err := New(c, f, nil).Next(context.Background(), free); !errors.Is(err, ErrFailing) {
		t.Errorf("rounds fail for ever: %v", err)
	}
}

// TestWindows has clients of 1 s, 3 s and 9 s in windows of 2 s, by hand: those that have
// arrived wait for the end of the window, and a window without any is followed by another.
func TestWindows(t *testing.T) {
	c := async(3, 3, 3)
	c.Window, c.Hold = 2*second, true
	s := New(c, speeds(second, 3*second, 9*second), nil)
	want := [][]string{{"0/0"}, {"1/1", "0/0"}, {"0/0"}, {"1/1", "0/0"}, {"0/0", "2/4"}, {"1/1", "0/0"}}
	for i, want := range want {
		step := next(t, s)
		var got []string
		for _, j := range step.Taken {
			got = append(got, fmt.Sprintf("%d/%d", j.Client, j.Staleness))
		}
		slices.Sort(got)
		if slices.Sort(want); step.End != int64(2*(i+1))*second || !slices.Equal(got, want) {
			t.Errorf("step %d at %v s takes %v, want %v", i, step.End/second, got, want)
		}
	}
	s = New(c, speeds(9*second, 9*second, 13*second), nil)
	for i, want := range []int64{10, 14, 20} {
		if step := next(t, s); step.End != want*second || len(step.Taken) != []int{2, 1, 2}[i] {
			t.Errorf("step %d ends at %d s with %d updates, want %d s", i, step.End/second, len(step.Taken), want)
		}
	}
}

// TestNobodyThere has the clock go on to the time at which clients come.
func TestNobodyThere(t *testing.T) {
	f := speeds(second, second, second)
	f.on = func(client int, t int64) (bool, int64) { // client i is there from 10 i s, for 5 s each 100 s
		phase := (t - int64(10*client)*second) % (100 * second)
		if phase < 0 {
			return false, t - phase
		}
		if phase < 5*second {
			return true, t - phase + 5*second
		}
		return false, t - phase + 100*second
	}
	for name, c := range map[string]Config{"rounds": sync(3, 1, 1), "updates": async(3, 2, 1)} {
		s := New(c, f, nil)
		var got [][2]int64
		for range 12 {
			step := next(t, s)
			got = append(got, [2]int64{step.End / second, int64(step.Taken[0].Client)})
		}
		want := [][2]int64{
			{1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}, {11, 1}, {12, 1}, {13, 1}, {14, 1}, {15, 1}, {21, 2}, {22, 2},
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	f.on = func(int, int64) (bool, int64) { return false, math.MaxInt64 }
	for name, c := range map[string]Config{"rounds": sync(3, 1, 1), "updates": async(3, 2, 1)} {
		if _, err := New(c, f, nil).Next(context.Background(), free); !errors.Is(err, ErrNobody) {
			t.Errorf("%s: nobody ever comes: %v", name, err)
		}
	}
}

// mixed is a fleet with jobs of many times that fail and clients that come and go.
func mixed() known {
	return known{
		takes: func(j fleet.Job) (int64, bool) {
			draw := det.Mix(j.Sequence)
			return 1 + int64(draw%50), draw>>32%8 == 0
		},
		on: func(client int, t int64) (bool, int64) {
			hour := t / 40
			return det.Mix(uint64(client)<<32|uint64(hour))>>32%3 > 0, (hour + 1) * 40
		},
	}
}

// TestRestored has a schedule end as it would have without the interruptions after each
// step, at which its state goes through JSON.
func TestRestored(t *testing.T) {
	held := async(20, 6, 3)
	held.Hold, held.Open, held.MaxStaleness, held.Server = true, 2, 2, 1
	waits := sync(20, 5, 7)
	waits.Deadline, waits.MinUpdates = 30, 4
	for name, c := range map[string]Config{"updates": async(20, 6, 3), "held": held, "rounds": waits} {
		t.Run(name, func(t *testing.T) {
			whole, broken := New(c, mixed(), nil), New(c, mixed(), nil)
			lost := 0
			for i := range 300 {
				want := next(t, whole)
				text, err := json.Marshal(broken.State())
				var state State
				if err == nil {
					err = json.Unmarshal(text, &state)
				}
				if err != nil {
					t.Fatal(err)
				}
				broken = New(c, mixed(), nil)
				if err := broken.Check(state); err != nil {
					t.Fatal(err)
				}
				broken.Restore(state)
				got := next(t, broken)
				if got.Start != want.Start || got.End != want.End || got.Failed != want.Failed ||
					!slices.Equal(got.Taken, want.Taken) || !slices.Equal(got.Lost, want.Lost) {
					t.Fatalf("step %d: %+v, want %+v", i, got, want)
				}
				lost += len(got.Lost)
				at := map[int]bool{}
				for _, j := range want.Taken {
					if c.Async && j.Staleness > c.MaxStaleness || c.Hold && at[j.Client] {
						t.Fatalf("step %d takes %+v", i, want.Taken)
					}
					at[j.Client] = true
				}
			}
			if lost < 100 {
				t.Errorf("%d jobs were lost", lost)
			}
		})
	}
}

// TestImpossibleStates refuses states that no schedule can have.
func TestImpossibleStates(t *testing.T) {
	s := New(async(3, 2, 1), speeds(second, second, second), nil)
	next(t, s)
	good := s.State()
	if err := s.Check(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*State){
		"time":     func(c *State) { c.Now = -1 },
		"client":   func(c *State) { c.Flying[0].Client = 3 },
		"twice":    func(c *State) { c.Flying = append(c.Flying, c.Flying[0]) },
		"many":     func(c *State) { c.Flying = make([]Job, 3) },
		"base":     func(c *State) { c.Flying[0].Base = 5 },
		"sequence": func(c *State) { c.Flying[0].Sequence = c.Next },
		"end":      func(c *State) { c.Flying[0].End = -1 },
	} {
		var bad State
		text, _ := json.Marshal(good)
		if err := json.Unmarshal(text, &bad); err != nil || !reflect.DeepEqual(bad, good) {
			t.Fatal("a state does not come back from JSON")
		}
		if change(&bad); s.Check(bad) == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

func benchmark(b *testing.B, clients int) {
	f := known{takes: func(j fleet.Job) (int64, bool) {
		return 1 + int64(det.Mix(j.Sequence)%1_000_000), false
	}}
	s := New(async(clients, clients/100, 10), f, nil)
	for range clients / 10 {
		next(b, s)
	}
	b.ReportAllocs()
	b.ResetTimer()
	events := 0
	for b.Loop() {
		step, err := s.Next(context.Background(), free)
		if err != nil {
			b.Fatal(err)
		}
		events += 2 * len(step.Taken) // each is dispatched and arrives
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkEvents100k(b *testing.B) { benchmark(b, 100_000) }
func BenchmarkEvents1M(b *testing.B)   { benchmark(b, 1_000_000) }

// TestNoAllocations runs steps that allocate nothing.
func TestNoAllocations(t *testing.T) {
	for name, c := range map[string]Config{"updates": async(1000, 50, 10), "rounds": sync(1000, 50, 60)} {
		s := New(c, mixed(), nil)
		for range 200 {
			next(t, s)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = s.Next(context.Background(), free) }); n > 0 {
			t.Errorf("%s: a step allocates %v times", name, n)
		}
	}
}

// TestFewAreThere draws where nearly all clients are away: it looks at each about once until
// it may come, and at any time draws what a restored schedule draws.
func TestFewAreThere(t *testing.T) {
	const clients, share, stay = 20_000, 2000, int64(1000)
	looks := 0
	f := known{
		takes: func(j fleet.Job) (int64, bool) { return 1 + int64(det.Mix(j.Sequence)%50), false },
		on: func(client int, now int64) (bool, int64) {
			looks++
			block := (now + int64(client)) / stay // clients change at different times
			return det.Mix(uint64(client)<<32|uint64(block))%share == 0, (block+1)*stay - int64(client)
		},
	}
	for name, c := range map[string]Config{"updates": async(clients, 30, 10), "rounds": sync(clients, 10, 13)} {
		c.MinUpdates = 10
		whole, broken := New(c, f, nil), New(c, f, nil)
		looks = 0
		for range 20 {
			next(t, whole)
		}
		if most := clients * int(3+2*whole.Now()/stay) * 2; looks > most {
			t.Errorf("%s: %d looks at %d clients in %d ns, want at most %d", name, looks, clients, whole.Now(), most)
		}
		for i := range 20 {
			broken.Restore(broken.State())
			if next(t, broken); i == 19 && broken.Now() != whole.Now() {
				t.Errorf("%s: restored it is at %d ns, want %d", name, broken.Now(), whole.Now())
			}
		}
	}
}
