package study

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

// TestOlderStudiesKeepTheirSums resumes a study with large cohorts that a version
// before the tree of sums began: it ends with that version's bits, which a new one has
// not, and whose study of a small cohort ends alike.
func TestOlderStudiesKeepTheirSums(t *testing.T) {
	trained := func(cohort, version int, interrupted bool) string {
		dir := filepath.Join(t.TempDir(), "study")
		work := func(stopAfter int) (*Result, error) {
			s := glyphStudy(t, &script{params: learningRates(0.3), rung: 3, to: 5})
			s.Config.Cohort = cohort
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if stopAfter > 0 {
				begin(t, dir, &s.Config, version)
			}
			st := openStore(t, dir)
			defer func() { _ = st.Close() }()
			if chained, err := Chained(ctx, st); err != nil || chained != (version < treeVersion) {
				t.Errorf("version %d is chained: %v, %v", version, chained, err)
			}
			s.Store, s.Observer = st, &eventLog{stop: stop, after: stopAfter}
			return Tune(ctx, s)
		}
		after := 100
		if interrupted {
			after = 2
		}
		r, err := work(after)
		if interrupted {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			r, err = work(0)
		}
		if err != nil {
			t.Fatal(err)
		}
		return r.WeightsSHA256
	}
	old := trained(40, treeVersion-1, false)
	if again := trained(40, treeVersion-1, true); again != old {
		t.Errorf("resumed, the study of an earlier version ends with %s instead of %s", again, old)
	}
	if trained(40, recordVersion, false) == old {
		t.Error("a new study of a large cohort ends with the bits of an earlier version's")
	}
	if trained(16, recordVersion, false) != trained(16, treeVersion-1, false) {
		t.Error("a study of a cohort of 16 has other bits than an earlier version's")
	}
}
