package fleet

import (
	"fmt"
	"math"
	"sort"

	"github.com/fedfast/fedfast/internal/nanos"
)

// trace has the intervals of a file in which clients are available.
type trace struct {
	first      []int32 // of each name's intervals, and the end of the last
	start, end []int64
	of         []int32 // the clients' names; nil where they draw one
	period     int64   // 0 for none
}

// readTrace reads the intervals of Config.Availability.
func (f *Fleet) readTrace(clients []Client) (*trace, error) {
	path := f.cfg.Availability
	tr := &trace{period: nanos.Of(f.cfg.Period)}
	names := map[string]int32{}
	var ends []int64 // of each name so far
	var of []int32   // the name of each row
	var start, end []int64
	err := readCSV(path, [][]string{{"client", "start", "end"}}, func(_ []string, name string, numbers []float64) error {
		from, to := nanos.Of(numbers[0]), nanos.Of(numbers[1])
		n, ok := names[name]
		if !ok {
			n = int32(len(names))
			names[name], ends = n, append(ends, 0)
		}
		switch {
		case numbers[0] < 0:
			return fmt.Errorf("start = %v: must be 0 or more", numbers[0])
		case from >= to:
			return fmt.Errorf("end = %v: must be after start = %v", numbers[1], numbers[0])
		case from < ends[n]:
			return fmt.Errorf("start = %v: the interval before of client %q ends later; sort intervals by start, without overlaps", numbers[0], name)
		case tr.period > 0 && to > tr.period:
			return fmt.Errorf("end = %v: must be at most fleet.period = %v", numbers[1], f.cfg.Period)
		}
		ends[n] = to
		of, start, end = append(of, n), append(start, from), append(end, to)
		return nil
	})
	if err == nil {
		tr.of, err = f.assigned(path, names, clients)
	}
	if err != nil {
		return nil, fmt.Errorf("fleet.availability: %w", err)
	}
	tr.group(len(names), of, start, end)
	return tr, nil
}

// group puts the intervals of each name together, in their order.
func (tr *trace) group(names int, of []int32, start, end []int64) {
	tr.first = make([]int32, names+1)
	for _, n := range of {
		tr.first[n+1]++
	}
	for n := range names {
		tr.first[n+1] += tr.first[n]
	}
	tr.start, tr.end = make([]int64, len(of)), make([]int64, len(of))
	next := append([]int32(nil), tr.first...)
	for i, n := range of {
		tr.start[next[n]], tr.end[next[n]] = start[i], end[i]
		next[n]++
	}
}

func (tr *trace) available(f *Fleet, client int, t int64) (on bool, until int64) {
	var n int
	if tr.of != nil {
		n = int(tr.of[client])
	} else {
		n = f.below(drawTrace, client, len(tr.first)-1)
	}
	lo, hi := int(tr.first[n]), int(tr.first[n+1])
	begun := int64(0) // of the repetition that t is in
	if tr.period > 0 {
		begun = t / tr.period * tr.period
	}
	at := t - begun
	i := lo + sort.Search(hi-lo, func(k int) bool { return tr.end[lo+k] > at })
	switch {
	case i < hi && tr.start[i] <= at:
		return true, nanos.Add(begun, tr.end[i])
	case i < hi:
		return false, nanos.Add(begun, tr.start[i])
	case tr.period > 0:
		return false, nanos.Add(nanos.Add(begun, tr.period), tr.start[lo])
	}
	return false, math.MaxInt64
}
