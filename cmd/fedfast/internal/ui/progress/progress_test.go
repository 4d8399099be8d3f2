package progress

import (
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/result"
)

func TestPlainLines(t *testing.T) {
	var out strings.Builder
	clock := time.Unix(0, 0)
	d := New(&out, nil, "a head\n", func() time.Time { return clock })
	update := func(second, round int, loss, best float64) {
		clock = time.Unix(int64(second), 0)
		d.Update(study.Progress{
			Trial: 3, TrialRound: 2, ToRound: 4, Round: round, Rounds: 10, Loss: loss, Score: best,
			Best: result.Standing{Trial: 1, Score: best, Rounds: 5, Clients: 12}, Scale: result.Scale{
				Metric: "error",
				Target: "personalized", Percent: true,
			}, TestError: new(0.625), Target: "global", Clients: 12, Trials: 5,
			TrialsLeft: 3,
		})
	}
	update(1, 1, 2, math.NaN())
	update(6, 3, 1.5, 0.5)
	update(7, 2, 9, 0.9) // late
	update(8, 4, 1.25, 0.25)
	if n, err := d.Write([]byte("log\n")); n != 4 || err != nil {
		t.Errorf("Write gives %d, %v", n, err)
	}
	d.Close()
	d.Close()
	want := `a head
round 3 of 10, trial 3 at round 2 of 4, 3 of 5 trials active, loss 1.5, global test error 62.50 %, best ~50.00 % personalized val error (trial 1), mean of 5 rounds, 12 clients each, 4.0 clients/s, ETA 21s
log
round 4 of 10 in 8s, trial 3 at round 2 of 4, 3 of 5 trials active, loss 1.25, global test error 62.50 %, best ~25.00 % personalized val error (trial 1), mean of 5 rounds, 12 clients each
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestRoundsAreTimedWithoutThePreparation has no time for the round that ends it.
func TestRoundsAreTimedWithoutThePreparation(t *testing.T) {
	var out strings.Builder
	clock := time.Unix(0, 0)
	d := New(&out, nil, "", func() time.Time { return clock })
	for _, u := range []struct {
		second int
		p      study.Progress
	}{
		{25, study.Progress{Preparing: true, Round: 1, Rounds: 8, Score: 0.75}},
		{100, study.Progress{Preparing: true, Round: 4, Rounds: 8, Score: 0.5}},
		{200, study.Progress{
			Round: 1, Rounds: 10, ToRound: 10, Loss: 2, Score: math.NaN(),
			Best: result.Standing{Score: math.NaN()}, Clients: 5,
		}},
		{206, study.Progress{
			Round: 3, Rounds: 10, ToRound: 10, Loss: 1, Score: math.NaN(),
			Best: result.Standing{Score: math.NaN()}, Clients: 5,
		}},
	} {
		clock = time.Unix(int64(u.second), 0)
		d.Update(u.p)
	}
	d.Close()
	want := `preparing client tuner: trial 1 of up to 8 on proxy federations, error 0.75, up to 2m55s left to prepare
preparing client tuner: trial 4 of up to 8 on proxy federations, error 0.5, up to 1m40s left to prepare
round 1 of 10, loss 2
round 3 of 10, loss 1, 0.8 clients/s, ETA 42s
round 3 of 10 in 6s, loss 1
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestPreparationThatGoesOn has no time of the trials that were recorded before.
func TestPreparationThatGoesOn(t *testing.T) {
	var out strings.Builder
	clock := time.Unix(0, 0)
	d := New(&out, nil, "", func() time.Time { return clock })
	for i, round := range []int{150, 152} {
		clock = time.Unix(int64(15+15*i), 0)
		d.Update(study.Progress{Preparing: true, Round: round, Rounds: 168, Score: 0.5})
	}
	d.Close()
	want := `preparing client tuner: trial 150 of up to 168 on proxy federations, error 0.5, up to 4m30s left to prepare
preparing client tuner: trial 152 of up to 168 on proxy federations, error 0.5, up to 2m40s left to prepare
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestEvaluationsAreTimed: each model's, from its first clients on.
func TestEvaluationsAreTimed(t *testing.T) {
	var out strings.Builder
	clock := time.Unix(0, 0)
	d := New(&out, nil, "", func() time.Time { return clock })
	for _, u := range []struct {
		second int
		e      study.Evaluated
	}{
		{10, study.Evaluated{Model: "finalist 1 of 2", Clients: 2, Of: 50}},
		{20, study.Evaluated{Model: "finalist 1 of 2", Clients: 22, Of: 50}},
		{21, study.Evaluated{Model: "finalist 1 of 2", Clients: 50, Of: 50}},
		{31, study.Evaluated{Model: "finalist 2 of 2", Clients: 1, Of: 50}},
		{51, study.Evaluated{Model: "finalist 2 of 2", Clients: 11, Of: 50}},
		{60, study.Evaluated{Clients: 4, Of: 4}},
	} {
		clock = time.Unix(int64(u.second), 0)
		d.Evaluated(u.e)
	}
	d.Close()
	want := `finalist 1 of 2: evaluated on 2 of 50 clients
finalist 1 of 2: evaluated on 22 of 50 clients, ETA 14s
finalist 2 of 2: evaluated on 1 of 50 clients
finalist 2 of 2: evaluated on 11 of 50 clients, ETA 1m18s
evaluated on 4 of 4 clients
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

// TestOneEstimate: the time left counts all rounds, evaluations and random
// configurations, and goes on while models are evaluated.
func TestOneEstimate(t *testing.T) {
	var out strings.Builder
	clock := time.Unix(0, 0)
	d := New(&out, nil, "", func() time.Time { return clock })
	d.Rest(0.5, 2)
	none := result.Standing{Score: math.NaN()}
	for i := 1; i <= 10; i++ {
		clock = time.Unix(int64(6*i), 0)
		d.Update(study.Progress{
			TrialRound: i, ToRound: 10, Round: i, Rounds: 10, Loss: 1, Score: math.NaN(), Best: none,
			Clients: 5,
		})
	}
	for i := range 3 {
		clock = time.Unix(int64(61+10*i), 0)
		d.Evaluated(study.Evaluated{Model: "finalist 1 of 2", Clients: 1 + i, Of: 50})
	}
	for _, want := range []string{
		"round 1 of 10, loss 1, 0.8 clients/s, ETA 3m24s\n", // 54 s of rounds, 30 s and 2 minutes after them
		"round 10 of 10, loss 1, 0.8 clients/s, now evaluating\n",
		"finalist 1 of 2: evaluated on 2 of 50 clients, ETA 10m00s\n", // slower than expected
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if d.Close(); strings.Contains(out.String(), " left") {
		t.Errorf("it says\n%s", out.String())
	}
}

// TestDroppedClients: their number stands beside the loss, in a pipe and on a terminal,
// and alone where no client is left.
func TestDroppedClients(t *testing.T) {
	p := study.Progress{
		TrialRound: 1, ToRound: 2, Round: 1, Rounds: 2, Score: math.NaN(),
		Best: result.Standing{Score: math.NaN()}, Clients: 8,
	}
	for _, c := range []struct {
		loss    float64
		dropped int
		want    string
	}{
		{0.5, 1, "loss 0.5, 1 client dropped"},
		{0.5, 2, "loss 0.5, 2 clients dropped"},
		{math.NaN(), 8, "8 clients dropped"},
	} {
		p.Loss, p.Dropped = c.loss, c.dropped
		if got := describe(p); got != c.want {
			t.Errorf("in a pipe it says %q, want %q", got, c.want)
		}
		d := New(io.Discard, func() int { return 120 }, "", time.Now)
		d.Update(p)
		if got := d.state(d.now()).text(120); !strings.Contains(got, "| round 1 of 2, ") || !strings.Contains(got, c.want) ||
			c.loss != c.loss && strings.Contains(got, "loss") {
			t.Errorf("a terminal shows %q, want %q in it", got, c.want)
		}
		d.Close()
	}
}

func TestRunSaysNoTrial(t *testing.T) {
	var out strings.Builder
	d := New(&out, nil, "", time.Now)
	d.Update(study.Progress{
		TrialRound: 2, ToRound: 2, Round: 2, Rounds: 2, Loss: 0.5, Score: math.NaN(),
		Best: result.Standing{Score: math.NaN()},
	})
	d.Close()
	if want := "round 2 of 2, loss 0.5, now evaluating\nround 2 of 2 in 0s, loss 0.5\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestSpeedIsOfWhatWasTrained leaves out rounds that come from a record.
func TestSpeedIsOfWhatWasTrained(t *testing.T) {
	var out strings.Builder
	clock := time.Unix(0, 0)
	d := New(&out, nil, "", func() time.Time { return clock })
	for round := 1; round <= 50; round++ {
		clients := 0
		if round > 40 {
			clients, clock = 20, clock.Add(2*time.Second)
		}
		d.Update(study.Progress{
			TrialRound: round, ToRound: 100, Round: round, Rounds: 100, Loss: 1, Score: math.NaN(),
			Best: result.Standing{Score: math.NaN()}, Clients: clients,
		})
	}
	d.Close()
	if want := "round 49 of 100, loss 1, 10 clients/s, ETA 1m42s\nround 50 of 100 in 20s, loss 1\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got\n%s, want %s at the end", out.String(), want)
	}
}

func TestDurations(t *testing.T) {
	for of, want := range map[time.Duration]string{
		0: "0s", 59499 * time.Millisecond: "59s", time.Minute: "1m00s", 80*time.Minute + 17*time.Second: "1h20m",
		50 * time.Hour: "2d02h",
	} {
		if got := duration(of); got != want {
			t.Errorf("%v is written as %s, want %s", of, got, want)
		}
	}
}

// TestHeadWaits lets the head wait for a first round, but not for long.
func TestHeadWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		d := New(&out, nil, "a head\n", time.Now)
		if d.Close(); out.String() != "" {
			t.Errorf("%q is written before anything happens", out.String())
		}
		d = New(&out, nil, "a head\n", time.Now)
		time.Sleep(2 * headDelay)
		synctest.Wait()
		if d.Close(); out.String() != "a head\n" {
			t.Errorf("%q is written after a while", out.String())
		}
	})
}
