package study

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/plugins"
)

// tuned is a small study of each built-in tuner.
func tuned(t *testing.T, name string) Setup {
	t.Helper()
	if name == "fedtune-hrt" {
		return tableStudy(t)
	}
	builtin := plugins.Builtin()
	s := glyphStudy(t, builtin[name])
	s.Config.Tuner.Name = name
	s.Config.Budget = config.Budget{Rounds: 36, TrialRounds: 4}
	halves := map[string]any{"eta": int64(2), "eliminations": int64(2)}
	s.Config.Tuner.Options = map[string]map[string]any{
		"sha": halves, "asha": halves, "hyperband": {"eta": int64(2), "brackets": int64(2)},
		"bohb": {"eta": int64(2), "brackets": int64(2)}, "dehb": {"eta": int64(2), "brackets": int64(2)},
		"bo": {"init": int64(3)}, "tpe": {"init": int64(3)},
		"fedex": {"configs": int64(3)}, "fedpop": {"interval": int64(2)}, "pbt": {"interval": int64(1)},
		"fedoras": {"population": int64(4), "generations": int64(2), "tiers": int64(2)},
	}[name]
	if name == "sha" {
		s.Config.Budget = config.Budget{Rounds: 20, TrialRounds: 9} // its rungs use all of it
	}
	if name == "fedex" || name == "fedpop" { // it runs one trial
		s.Config.Budget = config.Budget{Rounds: 9, TrialRounds: 9}
	}
	if name == "dphype" || name == "flora" { // they run one trial
		s.Config.Budget = config.Budget{Rounds: 9, TrialRounds: 9}
		s.Config.Tuner.Options = map[string]any{"configs": int64(4)}
	}
	if name == "proxy" { // it trains what a finished study found
		first := filepath.Join(filepath.Dir(t.TempDir()), "first")
		if _, err := os.Stat(first); err != nil {
			if _, err := part(t, "random", 1, first, -1); err != nil {
				t.Fatal(err)
			}
		}
		s.Config.Tuner.From = []string{first}
	}
	if name == "fathom" { // it sets what clients train with, and needs trials to do so
		s.Tuner, s.ClientTuner = builtin["random"], builtin[name]
		s.Config.Tuner.Name, s.Config.ClientTuner.Name = "random", name
	}
	if name == "fedhyper" { // it needs a method with a server step
		s.Tuner, s.ClientTuner = builtin["random"], builtin[name]
		s.Config.Method, s.Config.Tuner.Name, s.Config.ClientTuner.Name = "reptile", "random", name
	}
	if name == "perfedrlnas" { // nor is there anything to pick without a supernet
		s.Tuner, s.ClientTuner, s.Model = builtin["random"], builtin[name], fltest.SmallSupernet(t, s.Data)
		s.Config.Method, s.Config.Sampling, s.Config.Tuner.Name, s.Config.ClientTuner.Name = "supernet", "without", "random",
			name
		s.Config.Tuner.Allow = append(s.Config.Tuner.Allow, "client_key")
	}
	if name == "fedoras" {
		s.Model, s.Config.Method = fltest.SmallSupernet(t, s.Data), "supernet"
	}
	return s
}

// TestEveryTunerInParallel plays every built-in tuner with one and with three
// trials in flight: the same result, the same events and the same record of
// decisions and reports for any number of workers and when the study is
// interrupted twice. With -short it plays those whose order of trials matters, with
// several in flight.
func TestEveryTunerInParallel(t *testing.T) {
	for name := range plugins.Builtin() {
		if testing.Short() && !slices.Contains([]string{"asha", "bo", "pbt"}, name) {
			continue
		}
		for _, parallel := range []int{1, 3} {
			if testing.Short() && parallel == 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s %d", name, parallel), func(t *testing.T) {
				want, calls := playWhole(t, name, parallel, 1)
				if parallel == 1 { // see TestTuneIsTheSameForAnyNumberOfWorkers
				} else if other, again := playWhole(t, name, parallel, 3); !reflect.DeepEqual(other.result, want.result) ||
					!slices.Equal(again, calls) {
					t.Errorf("3 workers end with %+v, 1 worker with %+v; calls\n%s\n%s", other.result, want.result,
						strings.Join(again, "\n"), strings.Join(calls, "\n"))
				} else if !reflect.DeepEqual(other.events, want.events) {
					t.Error("1 and 3 workers tell other events")
				}
				dir := filepath.Join(t.TempDir(), "study")
				for _, rounds := range []int{2, 5} {
					if _, err := part(t, name, parallel, dir, rounds); err == nil && want.result.Rounds > 5 {
						t.Error("the study was not interrupted")
					}
				}
				r, err := part(t, name, parallel, dir, -1)
				if err != nil {
					t.Fatal(err)
				}
				if strip(r); !reflect.DeepEqual(r, want.result) {
					t.Errorf("interrupted twice it ends with %+v, want %+v", r, want.result)
				}
				if got := calledIn(t, dir); !slices.Equal(got, calls) {
					t.Errorf("interrupted twice its record has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(calls, "\n"))
				}
			})
		}
	}
}

type played struct {
	result *result.Result
	events []Event
}

// playWhole plays a study without interruption; it returns its calls, too.
func playWhole(t *testing.T, name string, parallel, workers int) (played, []string) {
	t.Helper()
	s, dir, rec := tuned(t, name), filepath.Join(t.TempDir(), "study"), &recorder{}
	s.Config.Tuner.Parallel, s.Workers, s.Observer = parallel, workers, rec
	r := finish(t, s, dir)
	return played{strip(r), rec.events}, calledIn(t, dir)
}

// part works on a study until some rounds have ended, -1 for all.
func part(t *testing.T, name string, parallel int, dir string, rounds int) (*result.Result, error) {
	t.Helper()
	s := tuned(t, name)
	s.Config.Tuner.Parallel, s.Workers = parallel, 2
	s.Store = openStore(t, dir)
	defer func() { _ = s.Store.Close() }()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if rounds > 0 {
		s.Observer = &cancelling{after: rounds, cancel: stop}
	}
	return Tune(ctx, s)
}

// calledIn returns the calls of the trial tuner that a record holds, in order,
// those of a Suggest with what it decides.
func calledIn(t *testing.T, dir string) []string {
	t.Helper()
	v, err := store.Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	var out []string
	err = v.Each(t.Context(), func(r store.Row) error {
		out = append(out, r.Kind+" "+string(r.Data))
		return nil
	}, store.KindSuggest, store.KindReport)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAshaIsAsynchronous looks at the record of asha with four trials in flight:
// after each report it is asked, and it sends trials on while others run. With one
// in flight it is asked when that has reported.
func TestAshaIsAsynchronous(t *testing.T) {
	_, calls := playWhole(t, "asha", 4, 2)
	running, beside := 0, 0
	last := ""
	for i, c := range calls {
		kind, data, _ := strings.Cut(c, " ")
		if kind == "report" {
			if running--; last == "report" {
				t.Fatalf("call %d is a second report without a question between", i)
			}
		} else {
			sent := strings.Count(data, `"start"`) + strings.Count(data, `"resume"`)
			if sent > 0 && running > 0 {
				beside++
			}
			if running += sent; running > 4 {
				t.Fatalf("call %d: %d trials are in flight", i, running)
			}
		}
		last = kind
	}
	if beside < 5 {
		t.Errorf("it sent trials on beside others %d times:\n%s", beside, strings.Join(calls, "\n"))
	}
	_, single := playWhole(t, "asha", 1, 2)
	if slices.Equal(single, calls) {
		t.Error("one trial in flight and four are the same study")
	}
}

// TestARecordThatWasAskedInAnotherOrder is of a version that reported all trials in
// flight before it asked again.
func TestARecordThatWasAskedInAnotherOrder(t *testing.T) {
	dir, old := filepath.Join(t.TempDir(), "study"), filepath.Join(t.TempDir(), "old")
	if _, err := part(t, "asha", 3, dir, -1); err != nil {
		t.Fatal(err)
	}
	v, err := store.Look(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	to := openStore(t, old)
	seen := 0
	err = v.Each(t.Context(), func(r store.Row) error {
		if r.Kind == store.KindSuggest {
			if seen++; seen > 1 {
				return nil
			}
		}
		return to.Append(r.Kind, r.Trial, r.Round, r.Data)
	}, store.KindStudy, store.KindSession, store.KindSuggest, store.KindReport, store.KindTrial, store.KindRound,
		store.KindRung)
	if err != nil {
		t.Fatal(err)
	}
	_ = v.Close()
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = part(t, "asha", 3, old, -1)
	if err == nil || !strings.Contains(err.Error(),
		"is a report in the record and a suggest now: the record was written by a version of fedfast with another order of calls; finish the study with that version") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}
