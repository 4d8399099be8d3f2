package repro

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

// fleetPause is how often workers that have nothing to do are looked for.
const fleetPause = 200 * time.Millisecond

// Fleet runs jobs with the workers of a hub.
type Fleet struct {
	Hub *cluster.Hub
	// Work says how a job is worked on, anew for each; its Ready is not used.
	Work func() workdir.Options
	// Tell receives a line for each job that starts or ends. It is called from several
	// goroutines.
	Tell func(line string)
	// Done is called for each job that has ended, for one at a time.
	Done func(*Job, *Metrics) error

	mu      sync.Mutex
	running int
	err     error
}

// Run runs jobs. It begins with those of the first group, one after the other, and with
// the next group whenever workers are idle. The metrics come from Job.Run.
func (f *Fleet) Run(ctx context.Context, jobs []*Job) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	for _, group := range groups(jobs) {
		for !f.room() && pause(ctx) {
		}
		if ctx.Err() != nil {
			break
		}
		f.count(1)
		began := make(chan struct{}) // its seeds wait for workers soon, or it has ended
		work.Go(func() {
			defer f.count(-1)
			ready := sync.OnceFunc(func() { close(began) })
			defer ready()
			for _, j := range group {
				if err := f.one(ctx, j, ready); err != nil {
					f.fail(fmt.Errorf("%s, seed %d: %w", j.Training.Key, j.Seed, err))
					stop()
					return
				}
			}
		})
		select {
		case <-began:
			pause(ctx)
		case <-ctx.Done():
		}
	}
	work.Wait()
	if f.err != nil {
		return f.err
	}
	return ctx.Err()
}

// room says whether another group may begin.
func (f *Fleet) room() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running == 0 || f.Hub.Idle() > 0
}

func (f *Fleet) count(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running += n
}

func (f *Fleet) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = cmp.Or(f.err, err)
}

// pause waits a little, and says whether ctx goes on.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(fleetPause):
		return true
	case <-ctx.Done():
		return false
	}
}

// one runs a job and calls ready when its study begins.
func (f *Fleet) one(ctx context.Context, j *Job, ready func()) error {
	f.Tell(fmt.Sprintf("started: %s, seed %d", j.Training.Key, j.Seed))
	var c *cluster.Coordinator
	o := f.Work()
	o.Ready = func(ctx context.Context, setup *study.Setup) error {
		var err error
		if c, err = f.Hub.Open(ctx, setup); err != nil {
			return err
		}
		setup.Trainer = c
		ready()
		return nil
	}
	m, err := j.Run(ctx, o)
	if c != nil {
		c.Close(err == nil)
	}
	if err != nil {
		return err
	}
	f.Tell(fmt.Sprintf("finished: %s, seed %d", j.Training.Key, j.Seed))
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Done(j, m)
}

// groups parts jobs into those that must run one after the other.
func groups(jobs []*Job) [][]*Job {
	var out [][]*Job
	at := map[int]int{}
	for _, j := range jobs {
		i, known := at[j.group]
		if !known {
			i = len(out)
			at[j.group] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], j)
	}
	return out
}
