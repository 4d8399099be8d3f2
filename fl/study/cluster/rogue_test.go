package cluster

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/shard"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
)

// scaled multiplies weights.
func scaled(weights []float32, by float32) {
	for i := range weights {
		weights[i] *= by
	}
}

// TestRogueWorkers has a worker with faulty memory, or one that lies, train beside an honest
// one: it is dismissed by name, and the study comes to what it comes to in one process.
func TestRogueWorkers(t *testing.T) {
	record := func(from, to string) func(*levers) {
		return func(l *levers) {
			l.change = func(record []byte) []byte { return bytes.Replace(record, []byte(from), []byte(to), 1) }
		}
	}
	var first []float32 // an older model
	other := errOther.Error()
	const weights = "it sent other weights than those that it reported"
	for name, tt := range map[string]struct {
		rogue  func(l *levers)
		rounds Rounds
		audit  float64
		says   string
	}{
		"snapshots with NaN": {func(l *levers) {
			l.state = func(s *fl.Snapshot) *fl.Snapshot {
				s.Weights[3] = float32(math.NaN())
				return s
			}
		}, RoundsNever, 0, weights},
		"snapshots of an older model": {func(l *levers) {
			l.state = func(s *fl.Snapshot) *fl.Snapshot {
				if first == nil {
					first = bytes32(s.Weights)
				}
				copy(s.Weights, first)
				s.Weights[0]++
				return s
			}
		}, RoundsNever, 0, weights},
		"a bit of a snapshot": {func(l *levers) {
			l.state = func(s *fl.Snapshot) *fl.Snapshot {
				s.Weights[7] = math.Float32frombits(math.Float32bits(s.Weights[7]) ^ 1)
				return s
			}
		}, RoundsNever, 0, weights},
		"snapshots of another trial": {func(l *levers) {
			l.state = func(s *fl.Snapshot) *fl.Snapshot {
				s.Number++
				return s
			}
		}, RoundsNever, 0, "a worker sent trial"},
		"snapshots of another layout": {func(l *levers) {
			l.state = func(s *fl.Snapshot) *fl.Snapshot {
				s.Layout[0]++
				return s
			}
		}, RoundsNever, 0, "another memory layout"},
		"a claimed panic": {
			func(l *levers) { l.round = func() error { return &shard.PanicError{Value: "no"} } },
			RoundsNever, 0, "panic in a client task: no",
		},
		"a claimed failure": {func(l *levers) { l.round = func() error { return errors.New("no") } }, RoundsNever, 0, ": no"},
		"other steps":       {record(`"steps":`, `"steps":1`), RoundsNever, 1, other},
		"another score":     {record(`"score":0.`, `"score":0.00`), RoundsNever, 1, other},
		"another rate": {
			func(l *levers) { l.plan = func(p *fl.Plan) { p.Clients[0].LR *= 1.01 } }, RoundsNever, 1,
			other,
		},
		"a rate in parts": {
			func(l *levers) { l.part = func(s *shard.Round) { s.Plan.Clients[0].LR *= 1.01 } },
			RoundsAlways, 1, other,
		},
		"weights in parts": {
			func(l *levers) { l.part = func(s *shard.Round) { scaled(s.Weights, 1.001) } }, RoundsAlways, 1,
			other,
		},
		"weights in exams": {
			func(l *levers) { l.exam = func(x *shard.Exam) { scaled(x.Weights, -1) } }, RoundsAlways, 1,
			other,
		},
		"a part cut off": {func(l *levers) {
			l.result = func(text []byte, _ error) ([]byte, error) { return text[:len(text)/2], nil }
		}, RoundsAlways, 0, "part"},
		"a panic in parts": {func(l *levers) {
			l.result = func([]byte, error) ([]byte, error) { return nil, &shard.PanicError{Value: "no"} }
		}, RoundsAlways, 0, "panic in a client task: no"},
		"a failure in parts": {func(l *levers) {
			l.result = func([]byte, error) ([]byte, error) {
				return nil,
					errors.New("no")
			}
		}, RoundsAlways, 0, ": no"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, func() study.Setup {
				if tt.rounds == RoundsAlways {
					return sharedStudy(t)
				}
				s := tinyStudy(t)
				s.SnapshotEvery = 10 * time.Millisecond
				return s
			})
			r.options.Rounds, r.options.Audit = tt.rounds, tt.audit
			liar := r.worker(t.Context(), func(l *levers) { tt.rogue(l) })
			var honest chan error
			go func() { // once the liar has joined, which has the first name then
				r.await(1)
				honest = r.worker(t.Context(), nil)
			}()
			got, err := r.tune(t.Context())
			r.await(2)
			r.isAsAlone(t, got, err, honest)
			refused, ok := errors.AsType[*wire.RefusedError](ends(t, liar))
			if !ok || !strings.Contains(refused.Why, "dismissed ") || !strings.Contains(refused.Why, "-1 on ") ||
				r.told("-1 lost") != 1 || r.told(tt.says) == 0 || r.told("-2 lost") > 0 {
				t.Errorf("the liar ends with %v, notices %q", refused, r.notices)
			}
			if told := r.coordinator.Audited(); len(told.Dismissed) != 1 || !strings.Contains(told.Dismissed[0], tt.says) {
				t.Errorf("the result tells of %+v", told)
			}
		})
	}
}

// sharedStudy is a short study whose rounds can be shared.
func sharedStudy(t *testing.T) study.Setup {
	s := largeCohorts(t, "tuner.name=random", "budget.rounds=22")
	s.Config.Tuner.Options = nil
	return s
}

// bytes32 copies weights.
func bytes32(weights []float32) []float32 { return append([]float32(nil), weights...) }

// TestAudit has honest workers audited: all bits are as without, as many results are trained
// twice as the seed draws, and none is dismissed.
func TestAudit(t *testing.T) {
	for name, rounds := range map[string]Rounds{"trials": RoundsNever, "shared rounds": RoundsAlways} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, func() study.Setup {
				if rounds == RoundsAlways {
					return sharedStudy(t)
				}
				return tinyStudy(t)
			})
			r.options.Rounds, r.options.Audit = rounds, 0.3
			r.after = func(int) { r.await(2) }
			r.sameAsAlone(t, r.worker(t.Context(), nil), r.worker(t.Context(), nil))
			told := r.coordinator.Audited()
			if told == nil || told.Share != 0.3 || told.Dismissed != nil || told.Results < 3 {
				t.Errorf("audits: %+v", told)
			}
		})
	}
	a := auditor{share: 0.02}
	drawn := 0
	for i := range 10000 {
		if a.draws(share{trial: i % 7, rounds: i}) {
			drawn++
		}
	}
	if drawn < 150 || drawn > 250 {
		t.Errorf("%d of 10000 rounds are drawn at a share of 0.02", drawn)
	}
	if a.share = 1; !a.draws(share{trial: 3}) {
		t.Error("a share of 1 leaves a round out")
	}
}
