package tpe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

// suggestions returns n points that are suggested after history A, in order.
func suggestions(n int) []float64 {
	h := histories()[0]
	p := newPair(tuners.OpenRequest{Space: h.space}, h.trials)
	var out []float64
	for seed := range uint64(n) {
		out = append(out, p.choose(tuners.NewDraws(seed, 9, 0, "test"), 24)[0])
	}
	slices.Sort(out)
	return out
}

// share returns how many of sorted numbers are at most x.
func share(sorted []float64, x float64) float64 {
	n, _ := slices.BinarySearch(sorted, math.Nextafter(x, math.Inf(1)))
	return float64(n) / float64(len(sorted))
}

// TestSuggestionsAreDistributedAsOptunas compares with the 5, 10, ..., 95 % quantiles of
// 10,000 suggestions of Optuna 4.1.0 after history A, as log10 lr.
func TestSuggestionsAreDistributedAsOptunas(t *testing.T) {
	ours := suggestions(10_000)
	for i, x := range []float64{
		-1.7089, -1.6625, -1.6347, -1.6168, -1.6016, -1.5883, -1.5777, -1.569, -1.5609, -1.5535,
		-1.5465, -1.5393, -1.5305, -1.5212, -1.5098, -1.4955, -1.477, -1.4527, -1.4112,
	} {
		// 0.023 is the 1 % point of Kolmogorov and Smirnov's test for two samples of 10,000.
		if got, want := share(ours, x), float64(i+1)/20; math.Abs(got-want) > 0.023 {
			t.Errorf("%.3f of the suggestions are at most %v, of Optuna's %.2f", got, x, want)
		}
	}
}

// suggest prints suggestions of the Optuna that is installed.
const suggest = `
import json, math, sys, warnings
warnings.filterwarnings("ignore")
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
space = {"lr": optuna.distributions.FloatDistribution(1e-4, 1, log=True)}
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=3, multivariate=True, n_startup_trials=9))
for x, value in json.load(sys.stdin):
    study.add_trial(optuna.trial.create_trial(params={"lr": 10**x}, distributions=space, value=value))
trial = study._storage.get_trial(study._storage.create_new_trial(study._study_id))
print(json.dumps([math.log10(study.sampler.sample_relative(study, trial, space)["lr"]) for _ in range(120)]))
`

// TestSuggestionsAgainstOptuna compares with the Optuna that is here by Kolmogorov and
// Smirnov's test.
func TestSuggestionsAgainstOptuna(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds of Python")
	}
	const probe = "import sys; from importlib.util import find_spec; sys.exit(not find_spec('optuna'))"
	i := slices.IndexFunc(pythons, func(p string) bool { return exec.Command(p, "-c", probe).Run() == nil })
	if i < 0 {
		t.Skip("no python3 here can import optuna; install Debian's python3-optuna to compare with Optuna")
	}
	var history [][2]float64
	for _, trial := range histories()[0].trials {
		history = append(history, [2]float64{trial.Point[0], trial.Score})
	}
	in, err := json.Marshal(history)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(pythons[i], "-c", suggest)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	var theirs []float64
	if err := json.Unmarshal(out, &theirs); err != nil {
		t.Fatal(fmt.Errorf("%w: %s", err, out))
	}
	slices.Sort(theirs)
	ours, far := suggestions(5000), 0.0
	for _, x := range slices.Concat(theirs, ours) {
		far = max(far, math.Abs(share(ours, x)-share(theirs, x)))
	}
	t.Logf("%d suggestions of Optuna, %d of tpe: KS distance %.3f", len(theirs), len(ours), far)
	if limit := 1.95 * math.Sqrt(1/float64(len(theirs))+1/float64(len(ours))); far > limit { // the 0.1 % point
		t.Errorf("KS distance %v, want at most %v", far, limit)
	}
}

var pythons = []string{"python3", "/usr/bin/python3"}
