package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl/study/cluster"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
)

// Two workers of one processor each train what one process with two does: a study with
// trials of one length, so that neither waits at the end, or the rounds of one training,
// which they share.
const (
	pairTrials  = 8
	pairCohort  = 64 // of the training
	pairClients = 10 // of a round of the study
	pairPasses  = 3
	pairRounds  = 20 // of a trial
	quickPair   = 5
	pairFile    = `name = "pair"
method = "fedavg"
model = %q
cohort = %d
rounds = %d
seed = 1

[data]
name = "fashion-small"
clients = %d
samples = 60

[client]
lr = 0.01
batch = 20
`
	pairTuner = `
[budget]
rounds = %d
trial_rounds = %d

[tuner]
name = "random"

[space]
"client.lr" = {log10 = [-3, -1]}
`
)

// pair is the work in both ways.
type pair struct {
	exe, model     string
	rounds, passes int
	shared         bool // the rounds of one training
}

// name is the name of the row.
func (p *pair) name() string {
	if p.shared {
		return "shared-rounds"
	}
	return "two-workers"
}

func (p *pair) shape() string {
	if p.shared {
		return fmt.Sprintf("%s,clients=%d,rounds=%d", p.model, pairCohort, p.rounds)
	}
	return fmt.Sprintf("%s,trials=%d,rounds=%d", p.model, pairTrials, p.rounds)
}

// file is the study file.
func (p *pair) file() []byte {
	if p.shared {
		return fmt.Appendf(nil, pairFile, p.model, pairCohort, p.rounds, pairCohort)
	}
	text := fmt.Appendf(nil, pairFile, p.model, pairClients, p.rounds, 4*pairClients) //nolint:mnd // a quarter takes part
	return fmt.Appendf(text, pairTuner, pairTrials*p.rounds, p.rounds)
}

// command is the program at this work.
func (p *pair) command(ctx context.Context, file, study string, more ...string) *exec.Cmd {
	command := "tune"
	if p.shared {
		command = "run"
	}
	return exec.CommandContext(ctx, p.exe, append([]string{command, file, "--study", study}, more...)...)
}

// compare works in both ways, in turns.
func (p *pair) compare(ctx context.Context) (r []Result, err error) {
	dir, err := os.MkdirTemp("", "fedfast-pair-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "pair.toml")
	if err := os.WriteFile(file, p.file(), 0o600); err != nil {
		return nil, err
	}
	var one, two []float64 // seconds a round
	for pass := range p.passes {
		alone, shared := filepath.Join(dir, fmt.Sprintf("one-%d", pass)), filepath.Join(dir, fmt.Sprintf("two-%d", pass))
		if err := finish(p.command(ctx, file, alone, "--workers", "2")); err != nil {
			return nil, err
		}
		if err := p.share(ctx, file, shared); err != nil {
			return nil, err
		}
		if err := sameEnd(alone, shared); err != nil {
			return nil, err
		}
		a, err := pace(ctx, alone)
		if err != nil {
			return nil, err
		}
		b, err := pace(ctx, shared)
		if err != nil {
			return nil, err
		}
		one, two = append(one, a), append(two, b)
	}
	ours, theirs := callResult(p.name(), p.shape(), two), callResult("one-process", p.shape(), one)
	ours.Cluster = &Cluster{Ratio: theirs.Seconds / ours.Seconds}
	ours.Threads, ours.P99, theirs.Threads, theirs.P99 = 2, 0, 2, 0
	return []Result{ours, theirs}, nil
}

// share runs the study with a coordinator and two workers.
func (p *pair) share(ctx context.Context, file, dir string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	join := filepath.Join(dir, cluster.Folder, cluster.JoinFile)
	ended := make(chan error, 2) // a worker each
	for range cap(ended) {
		go func() { ended <- finish(exec.CommandContext(ctx, p.exe, "worker", "--join", join, "--workers", "1")) }()
	}
	rounds := cluster.RoundsAuto
	if p.shared {
		rounds = cluster.RoundsAlways
	}
	err := finish(p.command(ctx, file, dir, "--workers", "1", "--cluster", "127.0.0.1:0", "--cluster-rounds", string(rounds)))
	if err != nil {
		stop()
		_, _ = <-ended, <-ended // they were killed
		return err
	}
	return errors.Join(<-ended, <-ended)
}

// finish runs a command to its end.
func finish(cmd *exec.Cmd) error {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return nil
}

// pace returns the seconds a round of a study, from when a tenth of the rounds has
// run, and so all workers have come.
func pace(ctx context.Context, dir string) (float64, error) {
	v, err := store.Look(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = v.Close() }() // it was read only
	var at []time.Time
	err = result.Rounds(ctx, v, func(r result.RoundRow) error {
		at = append(at, r.At)
		return nil
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(at, time.Time.Compare)
	first := len(at) / 10  //nolint:mnd // see above
	if len(at)-first < 2 { //nolint:mnd // an interval
		return 0, fmt.Errorf("%s: only %d rounds were recorded", dir, len(at))
	}
	return at[len(at)-1].Sub(at[first]).Seconds() / float64(len(at)-1-first), nil
}

// sameEnd compares the results of two studies.
func sameEnd(whole, study string) error {
	var ends [2]map[string]json.RawMessage
	for i, dir := range []string{whole, study} {
		text, err := os.ReadFile(filepath.Join(dir, "result.json"))
		if err == nil {
			err = json.Unmarshal(text, &ends[i])
		}
		if err != nil {
			return err
		}
	}
	for _, key := range []string{"best", "survivor", "trials", "weights_sha256", "survivor_sha256", "rounds"} {
		if !bytes.Equal(ends[0][key], ends[1][key]) {
			return fmt.Errorf("%s is %s, not %s", key, ends[1][key], ends[0][key])
		}
	}
	return nil
}
