package cluster

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/semaphore"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
)

// sending is a coordinator that can do no more than send weights to a server.
func sending(t *testing.T) *Coordinator {
	t.Helper()
	b, _ := openTest(t, false)
	c := &Coordinator{broker: b, sent: map[*float32]*sent{}, interrupted: func(context.CancelFunc) func() bool { return func() bool { return true } }}
	var err error
	if c.blobs, err = createBlobs(t.Context(), b.conn, nil); err != nil {
		t.Fatal(err)
	}
	c.blobs.most = 1 << 20
	return c
}

// TestBroadcastForgetsWhatFailed sends weights where that fails, then others from the
// same memory: they arrive as they are.
func TestBroadcastForgetsWhatFailed(t *testing.T) {
	c := sending(t)
	weights := []float32{1, 2, 3}
	whole := c.blobs
	broken := *whole
	broken.store = brokenStore{ObjectStore: whole.store}
	c.blobs = &broken
	for range 2 {
		if _, _, err := c.broadcast(t.Context(), weights); !errors.Is(err, errBroken) {
			t.Fatalf("weights are sent where nothing can be: %v", err)
		}
	}
	if len(c.sent) > 0 {
		t.Errorf("what could not be sent is kept: %v", c.sent)
	}
	c.blobs = whole
	weights[0] = 7
	name, done, err := c.broadcast(t.Context(), weights)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.blobs.get(t.Context(), name)
	if err != nil || s.Weights[0] != 7 {
		t.Errorf("other weights arrive as %+v: %v", s, err)
	}
	if done(); len(c.sent) > 0 || len(c.unused) != 1 {
		t.Errorf("they are kept: %v, %q", c.sent, c.unused)
	}
}

// TestBroadcastIsInterrupted interrupts tasks whose weights are on a way that does not
// end: they end at once, and others can be sent from the same memory.
func TestBroadcastIsInterrupted(t *testing.T) {
	c := sending(t)
	full := *c.blobs
	full.room = semaphore.NewWeighted(0)
	whole := c.blobs
	c.blobs = &full
	weights := []float32{1, 2, 3}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, _, err := c.broadcast(ctx, weights)
			ended <- err
		}()
	}
	time.Sleep(50 * time.Millisecond)
	stop()
	for range 2 {
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("it ends with %v", err)
			}
		case <-time.After(2 * time.Second):
			t.Fatal("a task waits for its weights although it is interrupted")
		}
	}
	c.blobs = whole
	weights[1] = 9
	name, done, err := c.broadcast(t.Context(), weights)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if s, err := c.blobs.get(t.Context(), name); err != nil || s.Weights[1] != 9 {
		t.Errorf("other weights arrive as %+v: %v", s, err)
	}
}

// TestInterruptWaitsForNoBlob interrupts a study whose worker does not send what it is to
// send, or says that it has and has not: the study ends soon, and can be resumed.
func TestInterruptWaitsForNoBlob(t *testing.T) {
	for name, fetched := range map[string]*request{
		"silent":         nil,
		"a blob to come": {State: stateFetched, Model: strings.Repeat("a", digestSize), Snapshot: strings.Repeat("a", digestSize)},
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
			claim(t, p.link, strings.Repeat("a", digestSize), `{"name": "`+strings.Repeat("a", digestSize)+`", "bucket": "`+bucket+`", "nuid": "x", "size": 2000, "chunks": 1}`)
			asked := make(chan struct{}, 100)
			honest := r.honest(t)
			p.work(func(o *order) *request {
				switch o.Order {
				case orderStart:
					return &request{State: stateReady}
				case orderRound:
					return honest(o)
				case orderFetch:
					asked <- struct{}{}
					if fetched == nil {
						<-t.Context().Done()
						return nil
					}
					said := *fetched
					said.Rounds = o.Rounds
					return &said
				}
				return &request{State: stateIdle}
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
func (r *run) honest(t *testing.T) func(o *order) *request {
	t.Helper()
	trains, err := study.NewWorker(r.setup())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(trains.Close)
	var j *study.Job
	return func(o *order) *request {
		if j == nil {
			j = trains.Begin(o.Trial)
		}
		p, err := o.Plan.decode()
		if err != nil {
			t.Error(err)
			return nil
		}
		record, err := j.Round(context.WithoutCancel(t.Context()), p, o.Observed)
		if err != nil {
			t.Error(err)
			return nil
		}
		return &request{State: stateRound, Rounds: j.Rounds(), Record: record}
	}
}

// TestWaitsForAWorker has a study wait for workers, first for any, then when its only one
// is killed: it says so, how many there were and how they join, and not often.
func TestWaitsForAWorker(t *testing.T) {
	for _, rounds := range []Rounds{RoundsNever, RoundsAlways} {
		t.Run(string(rounds), func(t *testing.T) {
			r := newRun(t, func() study.Setup { return largeCohorts(t) })
			r.options.Rounds, r.options.alone = rounds, 100*time.Millisecond
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
	o := &Options{alone: 5 * time.Second, Notice: func(string) { told++ }}
	v := vigil{}
	v.look(true, 0, o, &broker{})
	began := time.Now()
	for second := range 24 * 3600 { // a day
		v.since = began.Add(-time.Duration(second) * time.Second)
		v.look(true, 1, o, &broker{})
	}
	if told < 20 || told > 40 {
		t.Errorf("told %d times in a day", told)
	}
	v.look(false, 1, o, &broker{})
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
		slow := r.worker(t.Context(), func(o *WorkerOptions) {
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
			c.broker.server.Shutdown()
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

// TestWorkerLeavesBeforeItIsReady asks a worker to leave that waits for a coordinator
// which does not answer.
func TestWorkerLeavesBeforeItIsReady(t *testing.T) {
	b, _ := openTest(t, false)
	if err := b.listen(func(*nats.Msg) {}, func(*nats.Msg) {}, func(*nats.Msg) {}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Work(ctx, WorkerOptions{Join: b.path, Version: "test"}) }()
	time.Sleep(100 * time.Millisecond)
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the worker ends with %v", err)
		}
	case <-time.After(2 * time.Second):
		t.Error("the worker stays")
	}
}

var errBroken = errors.New("the store is broken")

// brokenStore is a store in which nothing can be put.
type brokenStore struct{ jetstream.ObjectStore }

func (brokenStore) Put(context.Context, jetstream.ObjectMeta, io.Reader) (*jetstream.ObjectInfo, error) {
	return nil, errBroken
}
