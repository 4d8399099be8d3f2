package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/tuners/conformance"
	"github.com/fedfast/fedfast/tuners/host"
	"github.com/fedfast/fedfast/tuners/internal/test/rogue"
)

// TestMain makes this test binary its own tuner, `rogue MODE`, and the host that a
// check kills, `abandon REFERENCE`.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "rogue" {
		rogue.Serve(os.Args[2])
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "abandon" {
		if err := conformance.Abandon(context.Background(), os.Args[2], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// run checks a tuner of package rogue.
func run(t *testing.T, mode string, o conformance.Options) *conformance.Report {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ref, err := host.Find(mode, host.Paths{Builtin: []string{mode}, Serve: []string{self, "rogue"}})
	if err != nil {
		t.Fatal(err)
	}
	o.Abandon, o.Trials, o.Kills = []string{self, "abandon"}, 200, 6
	r, err := conformance.Run(t.Context(), ref, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARightTunerPasses(t *testing.T) {
	var ended []conformance.Check
	if testing.Short() {
		t.Skip("takes seconds")
	}
	r := run(t, "good", conformance.Options{Ended: func(c conformance.Check) { ended = append(ended, c) }})
	for i, c := range r.Checks {
		if c.Verdict != conformance.Passed || c.About == "" || ended[i] != c {
			t.Errorf("%+v", c)
		}
	}
	if !r.Passed || len(r.Checks) != 15 || r.Version != "1.0.0" || r.Latency.Calls < 100 || r.Latency.P50 <= 0 ||
		r.Latency.P99 < r.Latency.P50 {
		t.Errorf("%+v", r)
	}
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"verdict":"passed"`) || !strings.Contains(string(text),
		`"p99_us":`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestWrongTunersFail holds the ways in which a tuner may be wrong and what is said
// about each: the first check that fails and its message.
func TestWrongTunersFail(t *testing.T) {
	said := map[string]string{}
	for _, c := range []struct{ mode, check, want string }{
		{"anonymous", "handshake", `invalid description: bad answer: its name is "nobody"`},
		{
			"loud", "handshake",
			`invalid description: bad answer: its version has 1048580 characters, at most 100 are allowed: "\\x1b[2JA A A`,
		},
		{"nosy", "describe", `no study provides what the tuner requests: unknown probe "weights"`},
		{"strict", "validate", "rejects every setup tried, the first because of space: nothing is good enough"},
		{
			"careless", "options",
			"accepts option no-such-option = 1; Validate must return a problem with the key options.no-such-option",
		},
		{"nan", "decisions", "bad answer to Suggest: decision 0, start: trial 2: client.epochs = NaN is outside [1, 3]"},
		{"outside", "decisions", "trial 2: client.epochs = 1e+09 is outside [1, 3]"},
		{"stranger", "decisions", "decision 0, resume: trial 77 does not exist"},
		{"overspender", "decisions", "trial 30 to round 27: the study would run 837 rounds, more than budget.rounds = 810"},
		{"endless", "decisions", "starts a trial, no trial is running, and the study is not done"},
		{"hang", "decisions", "no response to Suggest within 1s, 3 times in a row"},
		{"huge", "decisions", "response is too large: a state has at most 16777216 bytes"},
		{"severed", "decisions", "process exited during Suggest"},
		{"moody", "determinism", `response 3 is "start trial 2 to round 27`},
		{"sharing", "sessions", `after another session: response 3 is "start trial 2 to round 27`},
		{"forgetful", "state", "new trial has number 0, want 1"},
		{"timid", "failures", "report of trial 0 (failed: true): tuner \"timid\": a trial has failed"},
		{"crash", "failures", "output: no idea what to do with a failed trial"},
		{"slow", "latency", "99th percentile of call latency is "},
		{"garrulous", "stdout", `bytes to stdout, starting with "the third trial begins\n`},
		{"torrent", "stdout", `bytes to stdout, starting with "lorem ipsum\nlorem ipsum`},
		{"immortal", "orphan", "still running 5s after its host was killed"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !slices.Contains([]string{"careless", "nan", "sharing", "forgetful", "garrulous"}, c.mode) {
				t.Skip("takes seconds")
			}
			o := conformance.Options{P99: 25 * time.Millisecond, Only: []string{c.check}, Probes: func(names ...string) error {
				if len(names) > 0 {
					return fmt.Errorf("unknown probe %q", names[0])
				}
				return nil
			}}
			if c.mode == "hang" {
				o.Timeout = time.Second
			}
			r := run(t, c.mode, o)
			i := slices.IndexFunc(r.Checks, func(c conformance.Check) bool { return c.Verdict == conformance.Failed })
			if i < 0 || r.Passed {
				t.Fatalf("it passes: %+v", r)
			}
			if got := r.Checks[i]; got.Name != c.check || !strings.Contains(got.Message, c.want) {
				t.Errorf("fails %s: %s; want %s: %s", got.Name, got.Message, c.check, c.want)
			}
		})
		if other, twice := said[c.want]; twice {
			t.Errorf("%s and %s fail with the same words", c.mode, other)
		}
		said[c.want] = c.mode
	}
}

func TestWhatDoesNotConcernATunerIsSkipped(t *testing.T) {
	r := run(t, "strict", conformance.Options{Only: []string{"crash", "stdout"}})
	if len(r.Checks) != 8 {
		t.Errorf("%d checks were run: %+v", len(r.Checks), r.Checks)
	}
	for _, c := range r.Checks {
		if c.Name == "crash" && (c.Verdict != conformance.Skipped || c.Message != "needs state") {
			t.Errorf("%+v", c)
		}
	}
}
