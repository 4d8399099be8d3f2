package view

import (
	"context"
	"time"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
)

// Worker is one of a study with a cluster, with the state that it was in last.
type Worker struct {
	result.WorkerRecord
	// Joined is when it came.
	Joined time.Time
	// Last is the trial that it was given last, -1 for none.
	Last int
	// Trials and Rounds count what it trained, alone or with others.
	Trials, Rounds int
}

// Standing says in a word what became of it: here, left or lost.
func (w *Worker) Standing() string {
	if w.State == result.WorkerJoined {
		return "here"
	}
	return w.State
}

// Stretch are rounds of a trial that one worker trained without a break, alone or
// together with others, which then have a stretch each.
type Stretch struct {
	// Worker is its name, empty for the process of the study itself.
	Worker string
	Trial  int
	// First and Last are those rounds.
	First, Last int
	// From is when the worker was given the trial, as far as the record tells, To when
	// the last of the rounds was recorded.
	From, To time.Time
}

// Workers tells which workers a study with a cluster has had, in the order in which
// they came, and which rounds each of them trained, by the trials of an overview and
// their rounds there. A study that never had any has none of both. Without rounds only
// the workers are told, and nothing of what they trained is counted.
func (s *Study) Workers(ctx context.Context, o *Overview, curves [][]Round) ([]Worker, []Stretch, error) {
	l := ledger{places: map[string]int{}, leases: map[int][]lease{}}
	if err := s.view.Few(ctx, o.Seq, l.read, store.KindSession, store.KindWorker, store.KindLease); err != nil {
		return nil, nil, err
	}
	if len(l.workers) == 0 {
		return nil, nil, nil
	}
	var all []Stretch
	for i := range curves {
		all = append(all, l.stretches(&o.Trials[i], curves[i])...)
	}
	l.count(all)
	return l.workers, all, nil
}

// ledger is what a record tells of workers.
type ledger struct {
	workers []Worker
	places  map[string]int  // of workers, by their names
	leases  map[int][]lease // by trial, in their order
	begun   []int64         // the entries of the processes of the study
}

// lease gives a trial to workers.
type lease struct {
	seq     int64
	at      time.Time
	workers []string
	shared  bool
}

// read takes in a row.
func (l *ledger) read(r store.Row) error {
	switch r.Kind {
	case store.KindSession:
		l.begun = append(l.begun, r.Seq)
	case store.KindWorker:
		w, err := result.ReadWorker(r)
		if err != nil {
			return err
		}
		if at, ok := l.places[w.Worker]; ok && w.State != result.WorkerJoined {
			l.workers[at].State = w.State
			return nil
		}
		l.places[w.Worker] = len(l.workers)
		l.workers = append(l.workers, Worker{WorkerRecord: *w, Joined: time.UnixMilli(r.At), Last: -1})
	case store.KindLease:
		rec, err := result.ReadLease(r)
		if err != nil {
			return err
		}
		next := lease{r.Seq, time.UnixMilli(r.At), rec.Workers, len(rec.Workers) > 0}
		if !next.shared {
			next.workers = []string{rec.Worker}
		}
		l.leases[r.Trial] = append(l.leases[r.Trial], next)
		for _, name := range next.workers {
			if at, ok := l.places[name]; ok {
				l.workers[at].Last = r.Trial
			}
		}
	}
	return nil
}

// session counts the processes that had begun before an entry.
func (l *ledger) session(seq int64) (n int) {
	for n < len(l.begun) && l.begun[n] < seq {
		n++
	}
	return n
}

// own is the lease of rounds that the process of the study trained itself.
var own = lease{workers: []string{""}}

// stretches parts the rounds of a trial by who trained them: by the newest lease
// before a round, unless the study was resumed since.
func (l *ledger) stretches(t *Trial, rounds []Round) (all []Stretch) {
	now, leases, rung, open := own, l.leases[t.Number], 0, 0
	for i := range rounds {
		r := &rounds[i]
		next := now
		for len(leases) > 0 && leases[0].seq < r.Seq {
			next, leases = leases[0], leases[1:]
		}
		if l.session(next.seq) != l.session(r.Seq) {
			next = own
		}
		goesOn := i > 0 && l.session(rounds[i-1].Seq) == l.session(r.Seq)
		for rung < len(t.Rungs) && t.Rungs[rung].Round < r.Round {
			goesOn, rung = false, rung+1
		}
		if !goesOn || next.seq != now.seq {
			from := r.At // nothing says when it began
			switch {
			case next.seq != now.seq && next.seq > 0 && !next.shared:
				from = next.at
			case goesOn:
				from = rounds[i-1].At
			}
			open = len(all)
			for _, name := range next.workers {
				all = append(all, Stretch{Worker: name, Trial: t.Number, First: r.Round, From: from})
			}
		}
		for j := open; j < len(all); j++ {
			all[j].Last, all[j].To = r.Round, r.At
		}
		now = next
	}
	return all
}

// count adds up what each worker trained.
func (l *ledger) count(all []Stretch) {
	seen := map[Stretch]bool{} // a worker and a trial
	for _, x := range all {
		at, ok := l.places[x.Worker]
		if !ok {
			continue
		}
		l.workers[at].Rounds += x.Last - x.First + 1
		if key := (Stretch{Worker: x.Worker, Trial: x.Trial}); !seen[key] {
			seen[key] = true
			l.workers[at].Trials++
		}
	}
}
