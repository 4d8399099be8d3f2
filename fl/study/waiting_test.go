package study

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// counted counts the sessions of a client tuner. Those of trials give no state if it is
// forgetful, as a tuner may, so that they cannot be closed between two rungs.
type counted struct {
	tuners.Tuner
	forgetful bool

	mu                 sync.Mutex
	opened, open, most int
}

func (c *counted) Open(ctx context.Context, req tuners.OpenRequest) (tuners.Session, error) {
	s, err := c.Tuner.Open(ctx, req)
	if err != nil || req.Trial < 0 {
		return s, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened, c.open = c.opened+1, c.open+1
	c.most = max(c.most, c.open)
	return &countedSession{s, c}, nil
}

func (c *counted) Work(ctx context.Context, req tuners.ValidateRequest) (tuners.Work, error) {
	return tuners.WorkOf(ctx, c.Tuner, req)
}

type countedSession struct {
	tuners.Session
	of *counted
}

func (s *countedSession) Probes() []string { return s.Session.(tuners.Prober).Probes() }

func (s *countedSession) State() []byte {
	if s.of.forgetful {
		return nil
	}
	return s.Session.State()
}

func (s *countedSession) Close(ctx context.Context) error {
	s.of.mu.Lock()
	s.of.open--
	s.of.mu.Unlock()
	return s.Session.Close(ctx)
}

// halved is a study of successive halving with a client tuner.
func halved(t *testing.T, name string) Setup {
	t.Helper()
	s := tuned(t, name)
	if s.ClientTuner == nil {
		s.ClientTuner, s.Config.ClientTuner.Options, s.Config.ClientTuner.Name = s.Tuner, s.Config.Tuner.Options, name
	}
	s.Tuner, s.Config.Tuner.Name = plugins.Builtin()["sha"], "sha"
	s.Config.Tuner.Options = map[string]any{"eta": int64(2), "eliminations": int64(2)}
	s.Config.Budget = config.Budget{Rounds: 20, TrialRounds: 9}
	if s.Config.Space == nil {
		s.Config.Space = map[string]any{"client.weight_decay": map[string]any{"log10": []any{-5.0, -1.0}}}
	}
	return s
}

// TestWaitingTrialsHoldNoSession has every client tuner go on from the states of sessions
// that were closed between two rungs as from sessions that stayed open.
func TestWaitingTrialsHoldNoSession(t *testing.T) {
	for _, name := range []string{"fathom", "fedex", "fedhyper", "fedpop", "fedtune-hrt", "perfedrlnas"} {
		var want *played
		for _, stored := range []bool{false, true} {
			for _, forgetful := range []bool{false, true} {
				if forgetful && name == "fedtune-hrt" {
					continue // without its state it has no table
				}
				s := halved(t, name)
				c, rec := &counted{Tuner: s.ClientTuner, forgetful: forgetful}, &recorder{}
				s.ClientTuner, s.Observer = c, rec
				var r *result.Result
				if stored {
					s.SnapshotEvery = time.Nanosecond // nor does a trial hold its weights
					r = finish(t, s, filepath.Join(t.TempDir(), "study"))
				} else {
					var err error
					if r, err = Tune(t.Context(), s); err != nil {
						t.Fatal(name, err)
					}
				}
				trained := func(e Event) bool { return e.Event != "round" && e.Event != "rung" }
				got := &played{r, slices.DeleteFunc(rec.events, trained)}
				if forgetful && c.most < 4 || !forgetful && (c.most > 1 || c.opened < 7) {
					t.Errorf("%s: %d sessions, at most %d at a time; forgetful: %v", name, c.opened, c.most, forgetful)
				}
				if c.open != 0 {
					t.Errorf("%s: %d sessions are open", name, c.open)
				}
				if want == nil {
					want = got
				} else if !reflect.DeepEqual(got.events, want.events) || got.result.SurvivorSHA256 != want.result.SurvivorSHA256 {
					t.Errorf("%s, stored: %v, forgetful: %v: the trials go on in another way", name, stored, forgetful)
				}
			}
		}
	}
}

// breaking damages all snapshots at the first rung, and again at the third.
type breaking struct {
	recorder
	dir   string
	rungs int
}

func (b *breaking) Event(e Event) {
	b.recorder.Event(e)
	if e.Event != "rung" {
		return
	}
	if b.rungs++; b.rungs%2 == 0 {
		return
	}
	files, _ := filepath.Glob(filepath.Join(b.dir, "snapshots", "*"))
	for _, f := range files {
		_ = os.Truncate(f, 10)
	}
}

// TestWaitingTrialsOutliveTheirSnapshots has trials whose weights were freed, and whose
// snapshots are damaged, train the rounds of this process again.
func TestWaitingTrialsOutliveTheirSnapshots(t *testing.T) {
	whole, damaged := halved(t, "fedex"), halved(t, "fedex")
	want, err := Tune(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	o := &breaking{dir: filepath.Join(t.TempDir(), "study")}
	damaged.Observer, damaged.SnapshotEvery = o, time.Nanosecond
	got := finish(t, damaged, o.dir)
	if o.rungs < 7 {
		t.Errorf("%d rungs", o.rungs)
	}
	if !reflect.DeepEqual(strip(got), strip(want)) {
		t.Errorf("with damaged snapshots it ends with weights %s, want %s", got.WeightsSHA256, want.WeightsSHA256)
	}
}
