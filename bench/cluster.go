package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/store"
)

// The suite cluster works with simulated workers, which are connected over loopback
// and train nothing, and with processes of this program.
const (
	roundCalls, quickCalls     = 3000, 50
	crowdWorkers, quickWorkers = 100, 10
	crowdTurns, quickTurns     = 100_000, 500
	crowdSaves                 = 100 // rounds between two fetches of a trial's state
	blobCalls, quickBlobs      = 9, 1
	crowdBlobs                 = 3 // with many workers
	megabyte                   = 1_000_000
)

// blobSizes are the sizes of models of the papers, in megabytes.
var blobSizes = []int{5, 26, 38}

// Cluster is what a row of the suite cluster found out.
type Cluster struct {
	// TurnsPerSecond are rounds that workers were given and have reported, Cores how
	// many processors that took, with the workers' side.
	TurnsPerSecond float64 `json:"turns_per_second,omitempty"`
	Cores          float64 `json:"cores,omitempty"`
	// FirstRSS and LastRSS are the bytes in memory after half of the turns and at
	// the end, Growth the slope of a line between, in bytes a turn.
	FirstRSS int64   `json:"first_rss,omitempty"`
	LastRSS  int64   `json:"last_rss,omitempty"`
	Growth   float64 `json:"growth_bytes_per_turn,omitempty"`
	// Readers are how many workers moved a blob at the same time, BytesPerSecond how
	// fast all of them did, RSS the most that this process held.
	Readers        int     `json:"readers,omitempty"`
	BytesPerSecond float64 `json:"bytes_per_second,omitempty"`
	RSS            int64   `json:"rss,omitempty"`
	// Ratio is the rate of two workers of one processor each over that of one
	// process with two.
	Ratio float64 `json:"ratio_to_one_process,omitempty"`
	// SpeedUps are the speed-ups of some machines over one without a cluster.
	SpeedUps []SpeedUp `json:"speed_ups,omitempty"`
}

// String says it in a cell.
func (c *Cluster) String() string {
	var parts []string
	add := func(format string, a ...any) { parts = append(parts, fmt.Sprintf(format, a...)) }
	if c.TurnsPerSecond > 0 {
		add("%.0f turns/s", c.TurnsPerSecond)
	}
	if c.Cores > 0 {
		add("%.2f cores", c.Cores)
	}
	if c.LastRSS > 0 {
		add("memory %.1f to %.1f MB, %.1f bytes per turn", float64(c.FirstRSS)/1e6, float64(c.LastRSS)/1e6, c.Growth)
	}
	if c.BytesPerSecond > 0 {
		add("%.0f MB/s", c.BytesPerSecond/1e6)
	}
	if c.RSS > 0 {
		add("memory %.0f MB", float64(c.RSS)/1e6)
	}
	if c.Ratio > 0 {
		add("%.3f of one process", c.Ratio)
	}
	for _, s := range c.SpeedUps {
		add("%d: %.1f, filled %.1f", s.Machines, s.Study, s.Filled)
	}
	return strings.Join(parts, ", ")
}

// clusterRows lists the suite's rows.
func clusterRows(ctx context.Context, cfg Config) ([]row, error) {
	if len(cfg.Tuners.Serve) == 0 {
		return nil, errors.New("Config.Tuners must be the path of the fedfast binary")
	}
	calls, workers, turns, moves := roundCalls, crowdWorkers, crowdTurns, blobCalls
	if cfg.Quick {
		calls, workers, turns, moves = quickCalls, quickWorkers, quickTurns, quickBlobs
	}
	seen := &costs{}
	rows := []row{
		{name: "round", shape: "workers=1", run: func(ctx context.Context, _ *meter) ([]Result, error) { return seen.timeRounds(ctx, calls) }},
		{name: "turns", shape: fmt.Sprintf("workers=%d,turns=%d", workers, turns), run: func(ctx context.Context, _ *meter) ([]Result, error) {
			return timeTurns(ctx, workers, turns)
		}},
	}
	for _, size := range blobSizes {
		for _, readers := range []int{1, 10, 50} {
			if cfg.Quick && (size > blobSizes[0] || readers > 1) {
				continue
			}
			moves := moves
			if readers > 10 { //nolint:mnd // it takes seconds each
				moves = min(moves, crowdBlobs)
			}
			rows = append(rows, row{name: "blob", shape: fmt.Sprintf("MB=%d,workers=%d", size, readers), run: func(ctx context.Context, _ *meter) ([]Result, error) {
				return seen.timeBlobs(ctx, size, readers, moves)
			}})
		}
	}
	for _, shared := range []bool{false, true} {
		p := pair{exe: cfg.Tuners.Serve[0], model: scaleModel, rounds: pairRounds, passes: pairPasses, shared: shared}
		if cfg.Quick {
			p.model, p.rounds, p.passes = smallName, quickPair, 1
		}
		rows = append(rows, row{name: p.name(), shape: p.shape(), run: func(ctx context.Context, _ *meter) ([]Result, error) { return p.compare(ctx) }})
	}
	speedUps, err := speedUpRows(ctx, cfg, seen)
	return append(rows, speedUps...), err
}

// costs are figures that the simulation uses; zero is not measured yet.
type costs struct {
	round    float64 // overhead of a round, in seconds
	byteTime float64 // of a blob on its way, in seconds
}

// complete measures what no row has.
func (k *costs) complete(ctx context.Context) error {
	if k.round == 0 {
		if _, err := k.timeRounds(ctx, quickCalls); err != nil {
			return err
		}
	}
	if k.byteTime == 0 {
		if _, err := k.timeBlobs(ctx, blobSizes[0], 1, quickBlobs); err != nil {
			return err
		}
	}
	return nil
}

// site is a coordinator of a small study with simulated workers.
type site struct {
	*cluster.Coordinator
	plan  fl.Plan
	state *fl.Snapshot // after a round, with as many weights as were asked for
}

// withSite runs f with a coordinator and workers. bytes is the size of the weights in
// their snapshots; 0 means the size of the study's model.
func withSite(ctx context.Context, workers, bytes int, f func(*site) error) (err error) {
	dir, err := os.MkdirTemp("", "fedfast-cluster-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := config.Load(config.Source{Preset: "quickstart", Sets: []string{"data.clients=20", "data.samples=30", "eval.every=0"}})
	if err != nil {
		return err
	}
	s := study.Setup{Config: *c, Workers: 1}
	if s.Data, s.Model, err = config.Prepare(ctx, c); err != nil {
		return err
	}
	if s.Store, err = store.Open(ctx, filepath.Join(dir, "study")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Store.Close()) }()
	w, err := study.NewWorker(s)
	if err != nil {
		return err
	}
	defer w.Close()
	h := c.Hyper()
	at := &site{plan: fl.Plan{Server: h.Server, Probes: []string{"val_error_after"}}}
	for range c.Cohort {
		at.plan.Clients = append(at.plan.Clients, h.Client)
	}
	job := w.Begin(0)
	record, err := job.Round(ctx, at.plan, nil)
	if err != nil {
		return err
	}
	at.state = job.State()
	if bytes > 0 {
		at.state.Weights = ramp(bytes / 4) //nolint:mnd // bytes of a float32
	}
	if at.Coordinator, err = cluster.Open(ctx, &s, "127.0.0.1:0", cluster.Options{Version: "bench"}); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- at.Simulate(ctx, cluster.Simulation{Workers: workers, Record: record, State: at.state})
	}()
	for at.Joined() < workers && ctx.Err() == nil && len(ended) == 0 {
		time.Sleep(time.Millisecond)
	}
	err = f(at)
	at.Close(true)
	return errors.Join(err, <-ended)
}

// place begins a trial that has already run the given number of rounds.
func (s *site) place(ctx context.Context, trial, rounds int) (study.Training, error) {
	return s.Place(ctx, trial, func() (*fl.Snapshot, error) {
		if rounds == 0 {
			return nil, nil
		}
		from := *s.state
		from.Number, from.Round = trial, rounds
		return &from, nil
	})
}

// timeRounds times rounds in which nothing is trained: what a cluster adds to each.
func (k *costs) timeRounds(ctx context.Context, n int) ([]Result, error) {
	var seconds []float64
	err := withSite(ctx, 1, 0, func(s *site) error {
		t, err := s.place(ctx, 0, 0)
		if err != nil {
			return err
		}
		defer t.End()
		const warm = 20
		for round := range warm + n {
			start := time.Now()
			if _, err := t.Round(ctx, round, s.plan, nil, nil); err != nil {
				return err
			}
			if round >= warm {
				seconds = append(seconds, time.Since(start).Seconds())
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	k.round = median(seconds)
	return []Result{callResult("round", "workers=1", seconds)}, nil
}

// timeTurns has many workers report rounds as fast as they can, each of a trial of
// its own, and watches the memory.
func timeTurns(ctx context.Context, workers, turns int) ([]Result, error) {
	each := turns / workers
	found := &Cluster{}
	err := withSite(ctx, workers, 0, func(s *site) error {
		trainings := make([]study.Training, workers)
		for i := range trainings {
			t, err := s.place(ctx, i, 0)
			if err != nil {
				return err
			}
			trainings[i] = t
		}
		cpu, start := processCPU(), time.Now()
		var at, rss []float64
		for done := 0; done < each; { // a part at a time, for looks at the memory between
			part := min(max(1, each/20), each-done)
			if err := together(trainings, func(t study.Training) error { return runRounds(ctx, t, done, part, s.plan) }); err != nil {
				return err
			}
			if done += part; done >= each/2 {
				debug.FreeOSMemory() // what is left is not garbage
				at, rss = append(at, float64(done*workers)), append(rss, float64(processRSS(os.Getpid())))
			}
		}
		took := time.Since(start).Seconds()
		found.TurnsPerSecond, found.Cores = float64(each*workers)/took, (processCPU()-cpu).Seconds()/took
		found.FirstRSS, found.LastRSS = int64(rss[0]), int64(rss[len(rss)-1])
		_, found.Growth = stat.LinearRegression(at, rss, nil, false)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []Result{{
		Name: "turns", Shape: fmt.Sprintf("workers=%d,turns=%d", workers, turns), Threads: 1, Seconds: 1 / found.TurnsPerSecond, Cluster: found,
	}}, nil
}

// runRounds runs rounds of a trial and now and then fetches its state.
func runRounds(ctx context.Context, t study.Training, from, n int, plan fl.Plan) error {
	for round := from; round < from+n; round++ {
		if _, err := t.Round(ctx, round, plan, nil, nil); err != nil {
			return err
		}
		if (round+1)%crowdSaves == 0 {
			if _, _, err := t.Fetch(ctx, false, true, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// together does something with all trainings at the same time.
func together(all []study.Training, f func(study.Training) error) error {
	errs := make([]error, len(all))
	var work sync.WaitGroup
	for i, t := range all {
		work.Go(func() { errs[i] = f(t) })
	}
	work.Wait()
	return errors.Join(errs...)
}

// timeBlobs measures how long it takes to send each worker a state of its own of size
// megabytes, and how long to get the states back.
func (k *costs) timeBlobs(ctx context.Context, size, workers, n int) ([]Result, error) {
	var there, back []float64
	memory := startMemory()
	defer memory.stop()
	err := withSite(ctx, workers, size*megabyte, func(s *site) error {
		for range n {
			start := time.Now()
			trainings := make([]study.Training, workers)
			errs := make([]error, workers)
			var work sync.WaitGroup
			for i := range trainings {
				work.Go(func() { trainings[i], errs[i] = s.place(ctx, i, 1) })
			}
			work.Wait()
			if err := errors.Join(errs...); err != nil {
				return err
			}
			there = append(there, time.Since(start).Seconds())
			start = time.Now()
			err := together(trainings, func(t study.Training) error {
				_, _, err := t.Fetch(ctx, false, true, nil)
				return err
			})
			if err != nil {
				return err
			}
			back = append(back, time.Since(start).Seconds())
			for _, t := range trainings {
				t.End()
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, rss := memory.stop()
	if workers == 1 {
		k.byteTime = max(median(there), median(back)) / float64(size*megabyte)
	}
	shape := fmt.Sprintf("MB=%d,workers=%d", size, workers)
	results := []Result{callResult("blob-there", shape, there), callResult("blob-back", shape, back)}
	for i := range results {
		r := &results[i]
		r.Cluster = &Cluster{Readers: workers, BytesPerSecond: float64(workers*size*megabyte) / r.Seconds, RSS: rss}
	}
	return results, nil
}
