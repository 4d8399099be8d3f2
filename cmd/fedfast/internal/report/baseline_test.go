package report

import (
	"fmt"
	"math"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/view"
)

// TestBestOf compares with all six orders of three scores.
func TestBestOf(t *testing.T) {
	scores := []float64{1, 2, 4}
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	all := bestOf(scores)
	for k := 1; k <= 3; k++ {
		mean, square := 0.0, 0.0
		for _, order := range orders {
			least := math.Inf(1)
			for _, i := range order[:k] {
				least = min(least, scores[i])
			}
			mean += least / 6
			square += least * least / 6
		}
		if m := all[k-1]; math.Abs(m.mean-mean) > 1e-12 || math.Abs(m.sd-math.Sqrt(square-mean*mean)) > 1e-7 {
			t.Errorf("best of %d: %v, want mean %v", k, m, mean)
		}
	}
}

// TestTheSameStudyTwice: a study with a seed that another one has is not a further seed.
func TestTheSameStudyTwice(t *testing.T) {
	var studies []*Study
	for _, seed := range []uint64{1, 2, 1} {
		c := config.Default()
		c.Seed = seed
		studies = append(studies, &Study{Overview: &view.Overview{
			Config: &c, Dir: fmt.Sprint("s", len(studies)),
			Mode: config.ModeRun,
		}})
	}
	all, err := groups(studies)
	if err != nil || len(all) != 2 || len(all[0].Studies) != 2 || len(all[1].Studies) != 1 || all[1].Name != "s2" {
		t.Errorf("%+v, %v", all, err)
	}
}
