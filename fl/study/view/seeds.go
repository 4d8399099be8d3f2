package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners"
)

// Seeds are studies that differ in their seed alone.
type Seeds []*Overview

// Sample sums up a quantity, NaN where a study lacks it, of the studies that have it.
func (s Seeds) Sample(of func(*Overview) float64) stats.Sample { return stats.Known(list.Of(s, of)) }

// Mean writes the mean of a number by which the studies are told with half the width of its interval, empty
// without any.
func (s Seeds) Mean(of func(*Overview) float64) string {
	if m := s.Sample(of); m.N > 0 {
		return MeanText(s[0].Told(), m)
	}
	return ""
}

// Targets are the targets of test errors.
var Targets = []string{tuners.TargetGlobal, tuners.TargetPersonalized}

// MeanText writes the mean of numbers of a scale with half the width of its interval, if that is known.
func MeanText(scale result.Scale, m stats.Sample) string { return withHalf(m.Mean, m.Half, scale.Text) }

// TestOf reads the number of test samples by which the returned model is told under a target, NaN for none.
func TestOf(target string) func(*Overview) float64 {
	return func(o *Overview) float64 { return o.ToldOf(Tests(target)[0]) }
}

// Means tells of several studies how good they are in the mean, under each of the targets; empty
// without any.
func (s Seeds) Means(targets ...string) string {
	var parts []string
	for _, target := range targets {
		if x := s.Mean(TestOf(target)); x != "" {
			parts = append(parts, target+" test "+s[0].Told().Metric+" "+x)
		}
	}
	if len(parts) == 0 || len(s) < 2 {
		return ""
	}
	return fmt.Sprintf("%s (mean over %d seeds, %.0f %% confidence interval)", strings.Join(parts, ", "), len(s), 100*stats.Confidence)
}

// Notes say how the trainings of finished studies ended early, as labels and what they say, and what
// is wrong with their models.
func (s Seeds) Notes() (ends [][2]string, warnings []string) {
	if len(s) == 1 {
		return s[0].Ending().Notes(), s[0].Verdict()
	}
	var verdicts [][]string
	var stopped, returned []string
	for _, o := range s {
		if o.Errors() == nil {
			continue
		}
		verdicts = append(verdicts, o.Verdict())
		e := o.Ending()
		if best, ended := result.Stale(e.Curve, e.Patience); ended {
			stopped = append(stopped, oneline.Digits(e.Curve[len(e.Curve)-1].Round))
			returned = append(returned, oneline.Digits(cmp.Or(e.Returned, best.Round)))
		}
	}
	if len(stopped) > 0 {
		ends = append(ends, [2]string{stoppedEarly, fmt.Sprintf("in %d of %s, at rounds %s, since the validation error did not improve; the returned models are of rounds %s",
			len(stopped), oneline.Count(len(verdicts), "seed"), strings.Join(stopped, ", "), strings.Join(returned, ", "))})
	}
	return ends, append(Warnings(verdicts, "seed"), s.apart()...)
}

// Ended are the sentences of Notes about how trainings ended.
func (s Seeds) Ended() (said []string) {
	ends, _ := s.Notes()
	said = append(said, list.Of(ends, func(e [2]string) string { return Sentence(e[0] + " " + e[1]) })...)
	return said
}
