package repro

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/plugins"
)

// TestRecordedPacks compares the packs of rows, by `fedfast repro board/heart/fedavg --seeds 1 --pack`, with the
// recorded metrics of these rows, and trains them again where their data are at hand.
func TestRecordedPacks(t *testing.T) {
	packs, err := filepath.Glob("../results/packs/*.fedfast")
	if err != nil || len(packs) < 3 {
		t.Fatalf("%d packs, %v", len(packs), err)
	}
	found, err := Find("../results/board")
	if err != nil {
		t.Fatal(err)
	}
	path, err := Locate("heart", cmp.Or(os.Getenv("FEDFAST_DATA"), "../../../shared/data"))
	if err != nil {
		t.Log("the packs are not trained again: ", err)
	}
	ends := map[string]string{}
	for _, m := range found {
		ends[fmt.Sprintf("%s-seed-%d", m.Head.Training, m.Head.Seed)] = m.End.SHA256
	}
	for _, pack := range packs {
		mem, _, err := store.Unpack(t.Context(), pack)
		if err != nil {
			t.Fatal(err)
		}
		s, err := result.Read(t.Context(), mem)
		if err != nil {
			t.Fatal(err)
		}
		sha := ""
		if s.Run != nil {
			sha = s.Run.WeightsSHA256
		} else if s.Tune != nil {
			sha = s.Tune.WeightsSHA256
		}
		want := ends[strings.TrimSuffix(filepath.Base(pack), ".fedfast")]
		if err := mem.Close(); err != nil || want == "" || sha != want {
			t.Errorf("%s: weights %s, recorded %q, %v", pack, sha, want, err)
		}
		if path == "" {
			continue
		}
		o := workdir.Options{Launcher: workdir.InProcess(plugins.Builtin())}
		all := study.Part{Trial: study.Every}
		v, err := workdir.Verify(t.Context(), pack, []string{"data.path=" + path}, o, all)
		if err != nil || !v.Whole {
			t.Errorf("%s: %+v, %v", pack, v, err)
		}
	}
}
