//go:build unix

package study

import (
	"fmt"
	"io"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/internal/replay"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// cpu is the processor time of this process so far, in seconds.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// recordRounds gives a function that records a round as the driver does: a plan
// for 20 slots, what three probes measured, and a state of the client tuner of
// 8 KiB after each call.
func recordRounds(b *testing.B) (*replay.Past, func(round int)) {
	b.Helper()
	s, err := store.Open(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	h := replay.New(s)
	var plan tuners.Plan
	rec := &record.Round{
		Score: 0.123456789, TrainLoss: 2.3456789, Steps: 400, Examples: 4000,
		Probes: map[string][]record.Real{},
	}
	for slot := range 20 {
		rec.Clients = append(rec.Clients, 17*slot)
		plan.Clients = append(plan.Clients, tuners.Params{
			"client.lr": tuners.Num(0.0123456789 * float64(slot+1)), "client.momentum": tuners.Num(0.9),
			"client.batch":  tuners.Num(32),
			"client.epochs": tuners.Num(3), "client.dropout": tuners.Num(0.25), "client.weight_decay": tuners.Num(1e-4),
		})
		for _, probe := range []string{"val_error_before", "val_error_after", "examples_val"} {
			rec.Probes[probe] = append(rec.Probes[probe], record.Real(0.1234567*float64(slot)))
		}
	}
	state := make([]byte, 8<<10)
	return h, func(round int) {
		for i, err := range []error{
			h.Append(store.KindPlan, 0, round, plan), h.SetState(0, 1, 2*round-1, state),
			h.Append(store.KindRound, 0, round, rec), h.SetState(0, 0, 2*round, state),
		} {
			if err != nil {
				b.Fatal(i, err)
			}
		}
	}
}

// BenchmarkRecordRound is what a round waits for its record. The commit goes on
// beside the next round.
func BenchmarkRecordRound(b *testing.B) {
	h, record := recordRounds(b)
	round := 0
	for b.Loop() {
		record(round)
		if round++; round%100 == 0 {
			b.StopTimer()
			if err := h.Flush(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
	b.ReportMetric(100*b.Elapsed().Seconds()/float64(b.N)/0.1, "%of100ms")
}

// BenchmarkRecordAndCommitRound adds the commit in a transaction of its own that
// waits for the disk: all that the record of a round of 100 ms costs the machine;
// shorter rounds share transactions. The processor time is reported, too.
func BenchmarkRecordAndCommitRound(b *testing.B) {
	h, record := recordRounds(b)
	round := 0
	before := cpu(b)
	for b.Loop() {
		record(round)
		round++
		if err := h.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1e9*(cpu(b)-before)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(100*(cpu(b)-before)/float64(b.N)/0.1, "cpu%of100ms")
}

// BenchmarkSnapshot stores the state of a trial with a million parameters and a
// server that keeps as many numbers, as happens at rungs and every 30 s.
func BenchmarkSnapshot(b *testing.B) {
	s, err := store.Open(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	snap := fl.Snapshot{
		Model: "m", Method: "fedavgm", Weights: make([]float32, 1<<20),
		Server: [][]float32{make([]float32, 1<<20)},
	}
	b.SetBytes(8 << 20)
	n := 0
	for b.Loop() {
		n++
		err := s.WriteSnapshot(fmt.Sprintf("trial-%06d-round-%08d", 0, n%2), func(w io.Writer) error {
			_, err := snap.WriteTo(w)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*b.Elapsed().Seconds()/float64(b.N)/(30*time.Second).Seconds(), "%of30s")
}
