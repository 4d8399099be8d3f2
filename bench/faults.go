package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
)

// The suite faults runs this program itself on small studies, kills it and looks at
// its memory.
const (
	faultKills, quickKills         = 100, 3
	memoryRounds, quickMemory      = 10_000, 400
	faultSeed                      = 1
	memoryEvery                    = 50 * time.Millisecond
	mostGrowth                     = 128 // bytes a round that count as flat: 10,000 rounds then grow by 1.3 MB
	killedStudy, memoryStudy       = "sha,fedex", "logistic"
	killedStudyFile, memoryRunFile = "killed.toml", "memory.toml"
)

// faultFile is the study of the suite: successive halving over FedEx, some seconds
// long.
const faultFile = `name = "faults"
method = "reptile"
model = "logistic"
cohort = 10
seed = 1
rounds = %d

[data]
name = "fashion-small"
clients = 40
samples = 60

[client]
lr = 0.01

[budget]
rounds = 600
trial_rounds = 60

[tuner]
name = "sha"

[client_tuner]
name = "fedex"

[space]
"client.lr" = {log10 = [-3, -0.3]}
"server.lr" = {log10 = [-1, 0]}
`

// Fault is what a row of the suite faults found out.
type Fault struct {
	Kills   int `json:"kills,omitempty"`   // of processes that worked on a study
	Studies int `json:"studies,omitempty"` // that were killed and ended like the one that was not
	Rounds  int `json:"rounds,omitempty"`  // of a run whose memory was watched
	// FirstRSS and LastRSS are the bytes in memory after half of the rounds, when
	// every cache is full, and at the end, Growth the slope of a line through all
	// that was seen between, in bytes a round.
	FirstRSS int64   `json:"first_rss,omitempty"`
	LastRSS  int64   `json:"last_rss,omitempty"`
	Growth   float64 `json:"growth_bytes_per_round,omitempty"`
}

// String says it in a cell.
func (f *Fault) String() string {
	if f.Rounds > 0 {
		return fmt.Sprintf("memory %.1f to %.1f MB, %.1f bytes per round", float64(f.FirstRSS)/1e6, float64(f.LastRSS)/1e6, f.Growth)
	}
	return fmt.Sprintf("%d kills, %d studies identical", f.Kills, f.Studies)
}

// faultRows lists the kills and the memory.
func faultRows(_ context.Context, cfg Config) ([]row, error) {
	if len(cfg.Tuners.Serve) == 0 {
		return nil, errors.New("Config.Tuners must be the path of the fedfast binary")
	}
	exe := cfg.Tuners.Serve[0]
	kills, rounds := faultKills, memoryRounds
	if cfg.Quick {
		kills, rounds = quickKills, quickMemory
	}
	return []row{
		{name: "kill-host", shape: fmt.Sprintf("%s,kills=%d", killedStudy, kills), run: func(ctx context.Context, _ *meter) ([]Result, error) {
			return killHosts(ctx, exe, kills)
		}},
		{name: "memory", shape: fmt.Sprintf("%s,rounds=%d", memoryStudy, rounds), run: func(ctx context.Context, _ *meter) ([]Result, error) {
			return watchMemory(ctx, exe, rounds)
		}},
	}, nil
}

// inTemp runs f in a directory of its own that holds the study file.
func inTemp(name string, rounds int, f func(dir, file string) ([]Result, error)) (r []Result, err error) {
	dir, err := os.MkdirTemp("", "fedfast-faults-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, fmt.Appendf(nil, faultFile, rounds), 0o600); err != nil {
		return nil, err
	}
	return f(dir, file)
}

// killHosts kills the program at random moments while it works on studies, lets it
// go on, and compares the ends with that of a study that was left alone. The
// seconds of the result are the seconds of a process, killed or not.
func killHosts(ctx context.Context, exe string, kills int) ([]Result, error) {
	return inTemp(killedStudyFile, 1, func(dir, file string) ([]Result, error) {
		start := time.Now()
		whole := filepath.Join(dir, "whole")
		if killed, err := work(ctx, exe, file, whole, 0); err != nil || killed {
			return nil, fmt.Errorf("uninterrupted study: %w", err)
		}
		alone := time.Since(start)
		random := rand.New(rand.NewPCG(faultSeed, uint64(kills)))
		f := &Fault{}
		start = time.Now()
		for f.Kills < kills {
			f.Studies++
			study := filepath.Join(dir, fmt.Sprintf("study-%d", f.Studies))
			for {
				after := time.Duration(0)
				if f.Kills < kills {
					after = 1 + time.Duration(random.Int64N(int64(alone/2)))
				}
				killed, err := work(ctx, exe, file, study, after)
				if err != nil {
					return nil, fmt.Errorf("after %d kills: %w", f.Kills, err)
				}
				if !killed {
					break
				}
				f.Kills++
			}
			if err := sameEnd(whole, study); err != nil {
				return nil, fmt.Errorf("after %d kills: %w", f.Kills, err)
			}
			if err := os.RemoveAll(study); err != nil {
				return nil, err
			}
		}
		each := time.Since(start).Seconds() / float64(f.Kills+f.Studies)
		return []Result{{
			Name: "kill-host", Shape: fmt.Sprintf("%s,kills=%d", killedStudy, f.Kills), Threads: 1, Seconds: each, Fault: f,
		}}, nil
	})
}

// work lets the program work on a study, for a time when after is not 0, and says
// whether it was killed then.
func work(ctx context.Context, exe, file, study string, after time.Duration) (killed bool, err error) {
	cmd := exec.CommandContext(ctx, exe, "tune", file, "--study", study)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return false, err
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && !exit.Exited() {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return false, nil
}

// sameEnd compares the results and the metrics of two studies.
func sameEnd(whole, study string) error {
	var ends [2]map[string]json.RawMessage
	var metrics [2][]byte
	for i, dir := range []string{whole, study} {
		text, err := os.ReadFile(filepath.Join(dir, "result.json"))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &ends[i]); err != nil {
			return err
		}
		if metrics[i], err = os.ReadFile(filepath.Join(dir, "metrics.jsonl")); err != nil {
			return err
		}
	}
	for _, key := range []string{"best", "survivor", "trials", "weights_sha256", "survivor_sha256", "rounds"} {
		if !bytes.Equal(ends[0][key], ends[1][key]) {
			return fmt.Errorf("%s is %s, not %s", key, ends[1][key], ends[0][key])
		}
	}
	if !bytes.Equal(metrics[0], metrics[1]) {
		return errors.New("the metrics differ")
	}
	return nil
}

// watchMemory looks at the memory of the program during a run of many rounds.
func watchMemory(ctx context.Context, exe string, rounds int) ([]Result, error) {
	return inTemp(memoryRunFile, rounds, func(dir, file string) ([]Result, error) {
		study := filepath.Join(dir, "study")
		cmd := exec.CommandContext(ctx, exe, "run", file, "--study", study)
		start := time.Now()
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var at, bytes []float64
		tick := time.NewTicker(memoryEvery)
		defer tick.Stop()
		for {
			select {
			case err := <-ended:
				if err != nil {
					return nil, err
				}
				return memoryResult(rounds, time.Since(start), at, bytes)
			case <-tick.C:
				if n, rss := lines(filepath.Join(study, "metrics.jsonl")), processRSS(cmd.Process.Pid); n >= rounds/2 && n < rounds && rss > 0 {
					at, bytes = append(at, float64(n)), append(bytes, float64(rss))
				}
			}
		}
	})
}

// memoryResult fits a line through what was seen.
func memoryResult(rounds int, took time.Duration, at, bytes []float64) ([]Result, error) {
	if len(at) < 2 {
		return nil, errors.New("memory of the process could not be measured: not supported by the system, or the run was too short")
	}
	_, slope := stat.LinearRegression(at, bytes, nil, false)
	f := &Fault{Rounds: rounds, FirstRSS: int64(bytes[0]), LastRSS: int64(bytes[len(bytes)-1]), Growth: slope}
	r := Result{Name: "memory", Shape: fmt.Sprintf("%s,rounds=%d", memoryStudy, rounds), Threads: 1, Seconds: took.Seconds() / float64(rounds), Fault: f}
	if rounds == memoryRounds && slope > mostGrowth {
		return []Result{r}, fmt.Errorf("memory grows by %.0f bytes per round, from %.1f to %.1f MB; at most %d are allowed", slope, bytes[0]/1e6, slices.Max(bytes)/1e6, mostGrowth)
	}
	return []Result{r}, nil
}

// lines counts the lines of a file, 0 where there is none.
func lines(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return bytes.Count(text, []byte("\n"))
}
