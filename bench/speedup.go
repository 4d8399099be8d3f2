package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/fedfast/fedfast/bench/repro"
)

// speedUpMachines are the columns of the table of speed-ups.
var speedUpMachines = []int{1, 2, 3, 9, 10, 27, 30, 100}

// speedUpTables are its rows: tables of papers.
var speedUpTables = []string{"fedex-table1", "fathom-table1", "fedtune-table1"}

// SpeedUp is how much faster some machines are than one process on one of them, by a
// simulation.
type SpeedUp struct {
	Machines int `json:"machines"`
	// Study is the speed-up of one study, the longest of the table; Filled that of all of the
	// table when idle machines take up other seeds and cells.
	Study  float64 `json:"study"`
	Filled float64 `json:"filled"`
}

// speedUpRows lists the papers' tables.
func speedUpRows(_ context.Context, cfg Config, seen *costs) ([]row, error) {
	var rows []row
	for i, name := range speedUpTables {
		if cfg.Quick && i > 0 {
			break
		}
		cells, err := repro.Select(name)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{name: "speed-up", shape: name, run: func(ctx context.Context, _ *meter) ([]Result, error) {
			if err := seen.complete(ctx); err != nil {
				return nil, err
			}
			all, err := repro.Schedules(ctx, cells, cfg.workers())
			if err != nil {
				return nil, err
			}
			return []Result{seen.speedUp(name, all)}, nil
		}})
	}
	return rows, nil
}

// speedUp lays a table's schedules out on machines.
func (k *costs) speedUp(name string, all []repro.Schedule) Result {
	var table []errand
	longest := errand{}
	for _, s := range all {
		e := k.errand(s)
		if e.alone() > longest.alone() {
			longest = e
		}
		for range s.Repeats {
			table = append(table, e)
		}
	}
	alone, whole := longest.alone(), 0.0
	for i := range table {
		whole += table[i].alone()
	}
	found := &Cluster{}
	for _, n := range speedUpMachines {
		found.SpeedUps = append(found.SpeedUps, SpeedUp{
			Machines: n, Study: alone / makespan([]errand{longest}, n), Filled: whole / makespan(table, n),
		})
	}
	return Result{Name: "speed-up", Shape: fmt.Sprintf("%s,longest=%s,studies=%d", name, longest.name, len(table)), Threads: 1, Seconds: whole, Cluster: found}
}

// errand is a study to be simulated.
type errand struct {
	name    string
	batches [][]part
}

// part is a segment of a trial: seconds that it takes in one process, and that it
// takes with a cluster more.
type part struct{ seconds, extra float64 }

// errand adds what a cluster costs to a schedule: a little each round, and the way of
// the state there and back.
func (k *costs) errand(s repro.Schedule) errand {
	e := errand{name: s.Training}
	for _, batch := range s.Batches {
		var parts []part
		for _, rounds := range batch {
			parts = append(parts, part{float64(rounds) * s.Seconds, float64(rounds)*k.round + 2*k.byteTime*float64(s.Bytes)})
		}
		if len(parts) > 0 {
			e.batches = append(e.batches, parts)
		}
	}
	return e
}

// alone is how long one process takes.
func (e *errand) alone() float64 {
	sum := 0.0
	for _, batch := range e.batches {
		for _, p := range batch {
			sum += p.seconds
		}
	}
	return sum
}

// makespan is how long machines take for some studies. A machine that is free takes
// the next segment of the first study that has one; a study's batch begins when the
// one before has ended.
func makespan(all []errand, machines int) float64 {
	type progress struct {
		batch, next, running int
	}
	at := make([]progress, len(all))
	busy := map[int]struct { // by machine
		until float64
		study int
	}{}
	now := 0.0
	for {
		for i := range all { // fill the machines
			p := &at[i]
			for p.batch < len(all[i].batches) && p.next < len(all[i].batches[p.batch]) && len(busy) < machines {
				one := all[i].batches[p.batch][p.next]
				m := 0
				for _, taken := busy[m]; taken; _, taken = busy[m] {
					m++
				}
				busy[m] = struct {
					until float64
					study int
				}{now + one.seconds + one.extra, i}
				p.next++
				p.running++
			}
		}
		if len(busy) == 0 {
			return now
		}
		first, until := -1, math.Inf(1)
		for m := range machines {
			if b, ok := busy[m]; ok && b.until < until {
				first, until = m, b.until
			}
		}
		now = until
		p := &at[busy[first].study]
		p.running--
		if p.running == 0 && p.next == len(all[busy[first].study].batches[p.batch]) {
			p.batch, p.next = p.batch+1, 0
		}
		delete(busy, first)
	}
}
