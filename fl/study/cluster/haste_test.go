package cluster

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/config"
)

// TestInterruptWaitsForNoBlob interrupts a study whose worker does not send what it is to
// send, or says that it has and has not: the study ends soon, and can be resumed.
func TestInterruptWaitsForNoBlob(t *testing.T) {
	for name, fetched := range map[string]*wire.Request{
		"silent": nil,
		"a blob to come": {
			State: wire.StateFetched, Model: strings.Repeat("a", wire.DigestSize),
			Snapshot: strings.Repeat("a", wire.DigestSize),
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, func() study.Setup {
				s := tinyStudy(t, "tuner.name=random", "client_tuner.name=")
				s.Config.Tuner.Options, s.Config.Budget = nil, config.Budget{Rounds: 11, TrialRounds: 11}
				s.SnapshotEvery = time.Millisecond
				return s
			})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() {
				_, err := r.tune(ctx)
				ended <- err
			}()
			r.open()
			p, err := puppetOf(t, r, nil)
			if err != nil {
				t.Fatal(err)
			}
			claimBlob(t, p.Link, strings.Repeat("a", wire.DigestSize), `{"name": "`+strings.Repeat("a", wire.DigestSize)+
				`", "bucket": "`+wire.Bucket+`", "nuid": "x", "size": 2000, "chunks": 1}`)
			asked := make(chan struct{}, 100)
			honest := r.honest(t)
			p.work(func(o *wire.Order) *wire.Request {
				switch o.Order {
				case wire.OrderStart:
					return &wire.Request{State: wire.StateReady}
				case wire.OrderRound:
					return honest(o)
				case wire.OrderFetch:
					asked <- struct{}{}
					if fetched == nil {
						<-t.Context().Done()
						return nil
					}
					said := *fetched
					said.Rounds = o.Rounds
					return &said
				}
				return &wire.Request{State: wire.StateIdle}
			})
			select {
			case <-asked:
			case err := <-ended:
				t.Fatalf("the study ends with %v", err)
			}
			stop()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("it ends with %v", err)
				}
			case <-time.After(haste + 3*time.Second):
				t.Fatal("an interrupted study waits for a blob")
			}
		})
	}
}

// honest returns what does rounds as a worker does them.
func (r *run) honest(t *testing.T) func(o *wire.Order) *wire.Request {
	t.Helper()
	trains, err := study.NewWorker(r.setup())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trains.Close)
	var j *study.Job
	return func(o *wire.Order) *wire.Request {
		if j == nil {
			j = trains.Begin(o.Trial)
		}
		p, err := o.Plan.Decode()
		if err != nil {
			t.Error(err)
			return nil
		}
		record, err := j.Round(context.WithoutCancel(t.Context()), p, o.Observed)
		if err != nil {
			t.Error(err)
			return nil
		}
		return &wire.Request{State: wire.StateRound, Rounds: j.Rounds(), Record: record}
	}
}

// TestWaitsForAWorker has a study wait for workers, first for any, then when its only one
// is killed: it says so, how many there were and how they join, and not often.
func TestWaitsForAWorker(t *testing.T) {
	for _, rounds := range []Rounds{RoundsNever, RoundsAlways} {
		t.Run(string(rounds), func(t *testing.T) {
			r := newRun(t, func() study.Setup { return largeCohorts(t) })
			r.options.Rounds = rounds
			r.opened = func(c *Coordinator) {
				c.pool.mu.Lock()
				defer c.pool.mu.Unlock()
				c.pool.alone.first = 100 * time.Millisecond
			}
			how := "; add one with: fedfast worker --join " + r.join()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			first := make(chan chan error, 1)
			go func() {
				r.until("no worker for", 3)
				first <- r.worker(ctx, nil)
			}()
			second := make(chan chan error, 1)
			r.after = func(round int) {
				if round != 5 {
					return
				}
				if r.told("none has joined yet)"+how) < 3 || r.told("none left") > 0 {
					t.Errorf("notices %q", r.notices)
				}
				stop()
				go func() {
					r.until("1 joined so far, none left)"+how, 2)
					second <- r.worker(t.Context(), nil)
				}()
			}
			got, err := r.tune(t.Context())
			r.isAsAlone(t, got, err, <-second)
			_ = ends(t, <-first) // it was asked to
			if r.told("1 joined so far, none left)"+how) < 2 || r.told("no worker for") > 12 {
				t.Errorf("notices %q", r.notices)
			}
		})
	}
}

// TestVigil holds how often people are told.
func TestVigil(t *testing.T) {
	told := 0
	notice := func(string) { told++ }
	v := newVigil()
	v.look(true, 0, notice, "")
	began := time.Now()
	for second := range 24 * 3600 { // a day
		v.since = began.Add(-time.Duration(second) * time.Second)
		v.look(true, 1, notice, "")
	}
	if told < 20 || told > 40 {
		t.Errorf("told %d times in a day", told)
	}
	v.look(false, 1, notice, "")
	if !v.since.IsZero() {
		t.Error("it waits although there is a worker")
	}
}

// TestWorkerLeavesAtTheEnd ends a study, or has its result there while its coordinator is
// gone, while a worker is in a round that does not end: the worker leaves at once.
func TestWorkerLeavesAtTheEnd(t *testing.T) {
	for _, killed := range []bool{false, true} {
		r := newRun(t, func() study.Setup {
			s := tinyStudy(t, "tuner.name=random", "client_tuner.name=")
			s.Config.Tuner.Options, s.Config.Budget = nil, config.Budget{Rounds: 20, TrialRounds: 20}
			return s
		})
		goOn, stalled := make(chan struct{}), make(chan struct{})
		slow := r.worker(t.Context(), func(o *levers) {
			o.Patience = time.Hour
			o.Ended = func() bool { return exists(r.dir + ".result") }
			o.stall = func(rounds int) {
				if rounds == 3 {
					close(stalled)
					<-goOn
				}
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := r.tune(ctx)
			ended <- err
		}()
		<-stalled
		var fast chan error
		if killed { // as the coordinator is killed when it has written its result
			if err := os.WriteFile(r.dir+".result", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			r.mu.Lock()
			c := r.coordinator
			r.mu.Unlock()
			c.broker.Close(false)
		} else {
			fast = r.worker(t.Context(), nil)
			r.await(2)
			r.loses(func(s *workerHandle) bool { return s.busy })
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		}
		select {
		case err := <-slow:
			if err != nil || r.told("the study has ended; this worker trained 3 rounds") != 1 {
				t.Errorf("it ends with %v; notices %q", err, r.notices)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("the worker stays when the study has ended (coordinator killed: %v)", killed)
		}
		close(goOn)
		stop()
		if killed {
			t.Log(<-ended)
		} else if err := ends(t, fast); err != nil {
			t.Error(err)
		}
	}
}
