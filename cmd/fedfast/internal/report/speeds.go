package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// worker is a client of a fleet with what it did.
type worker struct {
	client, jobs, updates int
	seconds               float64 // of a job
}

// speedTable compares clients by their speeds: how often they contributed, and what the test
// error is on them. Those that never worked are a group of their own.
func (s *Study) speedTable() *Table {
	at := map[int]*worker{}
	for n := range s.atWork {
		for _, j := range s.atWork[n].Fleet.Jobs {
			w := at[j.Client]
			if w == nil {
				w = &worker{client: j.Client}
				at[j.Client] = w
			}
			w.jobs++
			w.seconds += float64(j.End - j.Start)
			if j.Fate == "" {
				w.updates++
			}
		}
	}
	const groups = 5
	if len(at) < groups {
		return nil
	}
	all := make([]*worker, 0, len(at))
	for _, w := range at {
		w.seconds /= float64(w.jobs)
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *worker) int {
		return cmp.Or(cmp.Compare(a.seconds, b.seconds), cmp.Compare(a.client, b.client))
	})
	m := s.errors()
	t := &Table{
		Title: "Clients of " + s.trialName(s.fleetTrial()) + " by speed",
		Head:  []string{"clients", "number", "seconds per job", "updates per client", "test " + m.name + " of " + s.models() + m.unit},
	}
	errorOf := func(in func(client int) bool) string {
		sum, n := 0.0, 0
		for i := range s.clients {
			c := &s.clients[i]
			if in(c.Client) && !math.IsNaN(c.Global) {
				sum += m.by * c.Global * float64(c.Samples)
				n += c.Samples
			}
		}
		if n == 0 {
			return "—"
		}
		return strconv.FormatFloat(sum/float64(n), 'f', 2, 64)
	}
	names := []string{"fastest fifth", "second fifth", "third fifth", "fourth fifth", "slowest fifth"}
	for g, name := range names {
		some, updates, is := all[g*len(all)/groups:(g+1)*len(all)/groups], 0, map[int]bool{}
		for _, w := range some {
			updates += w.updates
			is[w.client] = true
		}
		t.Rows = append(t.Rows, []string{
			name, count(len(some)), fmt.Sprintf("%.3g to %.3g", some[0].seconds, some[len(some)-1].seconds),
			fmt.Sprintf("%.2f", float64(updates)/float64(len(some))), errorOf(func(client int) bool { return is[client] }),
		})
	}
	never := 0
	for i := range s.clients {
		if at[s.clients[i].Client] == nil {
			never++
		}
	}
	if never > 0 {
		t.Rows = append(t.Rows, []string{"never worked", count(never), "—", "0", errorOf(func(client int) bool { return at[client] == nil })})
	}
	return t
}
