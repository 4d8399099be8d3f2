package study

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
)

// TestImpossibleRecordsAreRefused opens records that no study writes: each is refused
// when it is read, or when its rounds or priors are.
func TestImpossibleRecordsAreRefused(t *testing.T) {
	c, err := config.Load(config.Source{Preset: "fashion-fedex"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := config.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(mode string) row {
		return row{store.KindStudy, -1, 0, fmt.Sprintf(`{"mode":%q,"config":%q}`, mode, text)}
	}
	for name, tt := range map[string]struct {
		rows []row
		want string
	}{
		"unknown command": {[]row{begin("dance")}, `its command is "dance", must be tune or run`},
		"no command":      {[]row{begin("")}, `its command is "", must be tune or run`},
		"a run's result": {
			[]row{begin("tune"), {store.KindResult, -1, 3, `{"run":{"rounds":3}}`}},
			"the result of another command than tune",
		},
		"a study's result": {
			[]row{begin("run"), {store.KindResult, -1, 3, `{"tune":{"best":{"number":0}}}`}},
			"the result of another command than run",
		},
		"empty comparison": {[]row{
			begin("tune"),
			{store.KindResult, -1, 3, `{"tune":{"best":{"number":0}}}`},
			{store.KindBaseline, -1, 3, `{"rounds":3}`},
		}, "a comparison with no configurations"},
		"rungs of no study": {[]row{{store.KindRung, 0, 3, `{"score":1}`}}, "does not begin with a study"},
		"round 0":           {[]row{begin("tune"), {store.KindRound, 0, 0, `{"score":1}`}}, "is of round 0 of trial 0"},
		"trial -2":          {[]row{begin("tune"), {store.KindRound, -2, 1, `{"score":1}`}}, "is of round 1 of trial -2"},
	} {
		dir := filepath.Join(t.TempDir(), "s")
		st, err := store.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range tt.rows {
			if err := st.Append(r.kind, r.trial, r.round, []byte(r.data)); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		if err := opened(t, c, dir); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// row is one of a record.
type row struct {
	kind         string
	trial, round int
	data         string
}

// opened reads a record as reports do, and then as tuner.from does.
func opened(t *testing.T, c *config.Config, dir string) error {
	t.Helper()
	v, err := store.Look(t.Context(), dir)
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }()
	if _, err := result.Read(t.Context(), v); err != nil {
		return err
	}
	if err := v.Each(t.Context(), func(r store.Row) error { _, err := result.ReadEntry(r); return err },
		store.KindRound); err != nil {
		return err
	}
	return (&driver{setup: &Setup{Config: *c}}).read(t.Context(), dir, &record.Priors{})
}
