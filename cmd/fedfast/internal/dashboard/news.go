package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/store"
)

// batch is how many entries one answer tells of at most.
const batch = 5000

// news is what is recorded of a study after an entry.
type news struct {
	// Seq is the last entry that is told, More whether there may be others after it.
	Seq  int64 `json:"seq"`
	More bool  `json:"more"`
	// Rounds have ended: rows of trial, round, score, loss and test error. Changed says
	// whether anything else was recorded.
	Rounds  []reals `json:"rounds"`
	Changed bool    `json:"changed"`
	// PID is the process that works on the study, 0 for none.
	PID int `json:"pid"`
	// Mark is the mark of the files that were read, for the next request.
	Mark string `json:"mark"`
	// Cut says that the record ends before the entry.
	Cut bool `json:"cut"`
}

// settled is how old a write is when readers are sure to see it: SQLite shows them what it has
// written to the log only after the disk has it.
const settled = 2 * time.Second

// markOf tells states of a study's files apart, and the process that works on them, without
// reading the files. A state that is not settled has another mark each time.
func markOf(dir string) (mark string, pid int) {
	pid = store.Busy(dir)
	text := strconv.AppendInt(nil, int64(pid), 10)
	for _, name := range []string{store.File, store.File + "-wal", view.NotesFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			text = fmt.Appendf(text, " %d %d", info.Size(), info.ModTime().UnixNano())
			if now := time.Now(); now.Sub(info.ModTime()) < settled {
				text = fmt.Appendf(text, " %d", now.UnixNano())
			}
		}
	}
	return string(text), pid
}

// news tells what was recorded after an entry, nothing where the mark is still the same.
func (s *Server) news(r *http.Request) (any, error) {
	dir, err := s.folder(r)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	after, err := strconv.ParseInt(query.Get("after"), 10, 64)
	if err != nil {
		return nil, requestError("after: must be an entry number")
	}
	n := &news{Seq: after, Rounds: []reals{}}
	if n.Mark, n.PID = markOf(dir); n.Mark == query.Get("mark") {
		return n, nil
	}
	v, err := view.Look(r.Context(), dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }() // it was read only
	entries, err := v.Since(r.Context(), after, batch)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		last, err := v.Last(r.Context())
		n.Cut = last < after
		return n, err
	}
	if n.Seq, n.More = entries[len(entries)-1].Seq, len(entries) == batch; n.More {
		n.Mark = ""
	}
	first := n.add(entries)
	discount, err := strconv.ParseFloat(query.Get("discount"), 64)
	if err != nil || discount == 0 {
		return n, nil //nolint:nilerr // scores belong to single rounds
	}
	return n, n.weigh(r.Context(), v, first, discount)
}

// add tells of entries, and returns the first new round of each trial that has any.
func (n *news) add(entries []result.Entry) map[int]int {
	first := map[int]int{}
	for i := range entries {
		e := &entries[i]
		if e.Kind != store.KindRound {
			n.Changed = true
			continue
		}
		if _, ok := first[e.Trial]; !ok {
			first[e.Trial] = e.Round
		}
		n.Rounds = append(n.Rounds, reals{float64(e.Trial), float64(e.Round), e.Measured.Score, e.Measured.TrainLoss, e.Measured.TestError})
	}
	return first
}

// weigh puts into rows of rounds the scores with those of earlier rounds weighed in.
func (n *news) weigh(ctx context.Context, v *view.Study, first map[int]int, discount float64) error {
	for number, from := range first {
		t, err := v.Trial(ctx, number)
		if err != nil || t == nil {
			return err
		}
		curve, err := v.Curve(ctx, t, from-1, discount)
		if err != nil {
			return err
		}
		for _, row := range n.Rounds {
			if i := int(row[1]) - from; int(row[0]) == number && i >= 0 && i < len(curve) {
				row[2] = curve[i].Mean
			}
		}
	}
	return nil
}
