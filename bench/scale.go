package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// scaleModel trains in the sweeps; each of its clients takes one step of a whole
// batch.
const (
	scaleModel = "reddi-emnist-cnn"
	scaleBatch = 20
)

// sweep is a number that grows while the others stay.
type sweep struct {
	label  string // of the axis
	shapes []crowd
}

// crowd is how many take part: clients of a round, clients in all, and trials at
// once.
type crowd struct{ cohort, clients, trials int }

// sweeps are the rows of the suite scale.
var sweeps = []sweep{
	{"clients per round, of 1,000", []crowd{{10, 1000, 1}, {30, 1000, 1}, {100, 1000, 1}, {300, 1000, 1}, {1000, 1000, 1}}},
	{"total clients, 10 per round", []crowd{{10, 10, 1}, {10, 100, 1}, {10, 1000, 1}, {10, 10000, 1}}},
	{"parallel trials, 10 of 100 clients per round", []crowd{{10, 100, 1}, {10, 100, 3}, {10, 100, 9}, {10, 100, 27}}},
}

// The small model: a logistic regression on 10 numbers, trained by 100 clients a
// round.
const (
	smallInputs, smallClasses  = 10, 10
	smallClients, smallSamples = 100, 50
	smallBatch                 = 10
	smallName                  = "logistic"
)

// Rounds of a crowd are timed so often; a quick run leaves out crowds of more than
// quickCrowd clients at work.
const (
	scalePasses = 5
	quickCrowd  = 10
)

// scaleRows lists the sweeps and the small model.
func scaleRows(ctx context.Context, cfg Config) ([]row, error) {
	var rows []row
	seen := map[crowd]bool{}
	for _, s := range sweeps {
		for _, c := range s.shapes {
			if seen[c] || cfg.Quick && c.cohort*c.trials > quickCrowd {
				continue
			}
			seen[c] = true
			net, err := named(ctx, scaleModel, nn.Shape{}, 0)
			if err != nil {
				return nil, err
			}
			rows = append(rows, scaleRow(net, c, scaleBatch, scaleBatch, cfg.workers()))
		}
	}
	m, err := models.New(smallName, models.Options{Input: nn.Shape{H: 1, W: 1, C: smallInputs}, Classes: smallClasses})
	if err != nil {
		return nil, err
	}
	small := network{Model: m, name: smallName}
	return append(rows, scaleRow(small, crowd{smallClients, smallClients, 1}, smallSamples, smallBatch, cfg.workers())), nil
}

// scaleRow is rounds of a crowd.
func scaleRow(net network, c crowd, samples, batch, workers int) row {
	r := row{
		name: net.name, shape: fmt.Sprintf("%s,cohort=%d,clients=%d,trials=%d", inputText(net.Input()), c.cohort, c.clients, c.trials),
		batch: batch, optimizer: plainSGD,
	}
	r.run = func(ctx context.Context, m *meter) ([]Result, error) {
		memory := startMemory()
		defer memory.stop()
		s, err := newSimulation(net, nn.FP32, federation(net, c.clients, samples), c.cohort, batch, workers, c.trials)
		if err != nil {
			return nil, err
		}
		defer s.engine.Close()
		if _, err := s.all(ctx, s.plan); err != nil { // touch the memory
			return nil, err
		}
		passes, length := scalePasses, roundTime
		if m.quick {
			passes, length = 1, 0
		}
		var peaks []float64
		for range passes {
			peaks = append(peaks, m.samplePeak(nn.FP32))
			if err := s.take(ctx, length); err != nil {
				return nil, err
			}
		}
		m.peaks = append(m.peaks, peaks...)
		x, err := s.result(r.shape, median(peaks))
		if err != nil {
			return nil, err
		}
		x.Round.Heap, x.Round.RSS = memory.stop()
		if err := s.countAllocs(ctx, x.Round, 1); err != nil {
			return nil, err
		}
		return []Result{x}, nil
	}
	return r
}

// memoryWatch watches the memory of this process.
type memoryWatch struct {
	quit, done chan struct{}
	heap       int64 // most bytes of objects that were seen
	rss        int64
}

// startMemory gives free memory back to the system, so that what others left behind
// does not count, and begins to watch.
func startMemory() *memoryWatch {
	runtime.GC()
	debug.FreeOSMemory()
	resetPeakRSS()
	m := &memoryWatch{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(m.done)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			m.heap = max(m.heap, int64(sample[0].Value.Uint64()))
			select {
			case <-m.quit:
				m.rss = memory.Peak()
				return
			case <-tick.C:
			}
		}
	}()
	return m
}

// stop ends the watch and returns the most bytes of objects, and the most that the
// process held. It may be called again.
func (m *memoryWatch) stop() (heap, rss int64) {
	select {
	case <-m.done:
	default:
		close(m.quit)
		<-m.done
	}
	return m.heap, m.rss
}

// ScaleFigure draws the rows of the suite scale: the time of a client and memory
// against the number that grows.
func (r *Report) ScaleFigure() (*figure.Figure, error) {
	rows := map[crowd]Result{}
	for _, x := range r.Results {
		if x.Suite == "scale" && x.Name == scaleModel && x.Round != nil {
			rows[crowd{x.Round.Cohort, x.Round.Clients, x.Round.Trials}] = x
		}
	}
	if len(rows) == 0 {
		return nil, errors.New("nothing to plot: the suite scale did not run")
	}
	f := &figure.Figure{
		Name: "scale", Title: "Cost per client as the federation grows",
		Note: fmt.Sprintf("%s, one step of %d samples per client; %s, %s, level %s, %s", scaleModel, scaleBatch, r.Machine.CPU, oneline.Count(r.Machine.Cores, "core"), r.Machine.Level, r.Date),
	}
	x := figure.Axis{Label: "clients or trials", Log: true}
	for _, p := range []struct {
		title, label string
		of           func(Result) float64
	}{
		{"worker time per client", "time, ms", func(x Result) float64 { return 1e3 * x.Round.ClientSeconds }},
		{"peak memory of the process", "memory, MB", func(x Result) float64 { return memoryOf(x) / 1e6 }},
	} {
		panel := figure.Panel{Title: p.title, X: x, Y: figure.Axis{Label: p.label, Zero: true}}
		for _, s := range sweeps {
			line := figure.Line{Name: s.label}
			for _, c := range s.shapes {
				if row, ok := rows[c]; ok {
					line.Points = append(line.Points, figure.Point{X: float64(s.grows(c)), Y: p.of(row)})
				}
			}
			panel.Lines = append(panel.Lines, line)
		}
		f.Panels = append(f.Panels, panel)
	}
	return f, nil
}

// memoryOf is the memory that the system sees, or, where it does not tell, that of
// the objects.
func memoryOf(x Result) float64 {
	if x.Round.RSS > 0 {
		return float64(x.Round.RSS)
	}
	return float64(x.Round.Heap)
}

// grows returns the number of c that the sweep changes.
func (s sweep) grows(c crowd) int {
	first, last := s.shapes[0], s.shapes[len(s.shapes)-1]
	switch {
	case first.cohort != last.cohort:
		return c.cohort
	case first.clients != last.clients:
		return c.clients
	}
	return c.trials
}
