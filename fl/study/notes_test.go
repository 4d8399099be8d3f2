package study

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// notingTuner tells people how often any session of it was asked.
type notingTuner struct {
	slotTuner
	asked int
}

func (n *notingTuner) Open(ctx context.Context, r tuners.OpenRequest) (tuners.Session, error) {
	s, err := n.slotTuner.Open(ctx, r)
	return &notingSession{Session: s, tuner: n}, err
}

type notingSession struct {
	tuners.Session
	tuner *notingTuner
}

func (s *notingSession) PlanRound(ctx context.Context, r tuners.PlanRequest) (tuners.Plan, error) {
	p, err := s.Session.PlanRound(ctx, r)
	s.tuner.asked++
	p.Notes = map[string][]float64{"asked": {float64(s.tuner.asked)}}
	return p, err
}

// TestNotesAreRecorded interrupts a study with a client tuner's notes and with test
// errors over clients: both, and the rounds' simulated seconds, are in its record.
func TestNotesAreRecorded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "study")
	client := &notingTuner{}
	work := func(stopAfter int) (*result.Result, error) {
		s := glyphStudy(t, &script{params: learningRates(1e-4, 0.3, 1e-3), rung: 3, to: 5})
		s.ClientTuner, s.Config.Eval.Every = client, 2
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		st := openStore(t, dir)
		defer func() { _ = st.Close() }()
		s.Store, s.Observer = st, &eventLog{stop: stop, after: stopAfter}
		return Tune(ctx, s)
	}
	if _, err := work(2); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r, err := work(0)
	if err != nil {
		t.Fatal(err)
	}
	plans, spreads, timed := toldOf(t, dir)
	if len(plans) != r.Rounds || spreads == 0 || timed != r.Rounds {
		t.Errorf("of %d rounds %d plans have notes, %d simulated seconds, %d spreads", r.Rounds, len(plans), timed, spreads)
	}
}

// toldOf returns the notes and counts the percentiles, and the rounds with simulated
// seconds, that a study's record holds.
func toldOf(t *testing.T, dir string) (notes []float64, spreads, timed int) {
	t.Helper()
	v, err := store.Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	if err := v.Each(t.Context(), func(r store.Row) error {
		e, err := result.ReadEntry(r)
		if err != nil {
			return err
		}
		if e.Plan != nil {
			notes = append(notes, e.Plan.Notes["asked"]...)
		}
		if m := e.Measured; m != nil && m.TestSpread != nil {
			if s := m.TestSpread; !(0 <= s.P10 && s.P10 <= s.P50 && s.P50 <= s.P90 && s.P90 <= 1 && s.P10 <= m.TestError &&
				m.TestError <= 1) || e.Round%2 != 0 {
				t.Errorf("trial %d, round %d: %+v around %v", e.Trial, e.Round, s, m.TestError)
			}
			spreads++
		} else if m != nil && strings.Contains(string(r.Data), "spread") {
			t.Errorf("not read: %s", r.Data)
		}
		if m := e.Measured; m != nil && m.Seconds > 0 {
			timed++
		}
		return nil
	}, store.KindPlan, store.KindRound); err != nil {
		t.Fatal(err)
	}
	return notes, spreads, timed
}
