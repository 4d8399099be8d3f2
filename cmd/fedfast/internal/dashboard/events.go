package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/internal/view"
)

const (
	poll      = time.Second / 4
	heartbeat = 15 * time.Second
	// calm is how long nothing was recorded when a stream looks whether the study
	// is still at work, and then how often.
	calm = 2 * time.Second
	// batch is how many entries one event tells of at most.
	batch = 5000
)

// news is what an event tells: rounds that have ended, as rows of trial, round,
// score, loss and test error, and whether anything else changed.
type news struct {
	Rounds  []reals `json:"rounds"`
	Changed bool    `json:"changed"`
}

// events streams what is recorded of a study behind an entry: that of the header
// Last-Event-ID, with which a browser comes back, else that of the query.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	dir, err := s.folder(r)
	if err != nil {
		fail(w, err)
		return
	}
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.FormValue("after")
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		http.Error(w, fmt.Sprintf("after %q: must be an entry number", text), http.StatusBadRequest)
		return
	}
	v, err := view.Look(r.Context(), dir)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	every := s.Poll
	if every == 0 {
		every = poll
	}
	st := &stream{view: v, to: w, flush: http.NewResponseController(w).Flush, after: after, looked: time.Now()}
	defer func() { _ = st.view.Close() }() // it was read only
	// Whoever listens may be gone, and a record that cannot be read ends the stream:
	// the page comes back for what it lacks.
	_ = st.run(r.Context(), every)
}

// stream tells one page of a study's news.
type stream struct {
	view  *view.Study
	to    http.ResponseWriter
	flush func() error
	after int64 // the last entry that was told
	state [2]any
	// told is when anything was told, looked when the state was known last.
	told, looked time.Time
}

// errShorter is the end of a stream about a record that was cut.
var errShorter = errors.New("the record has shrunk")

// run follows the record until the context ends.
func (s *stream) run(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		more, err := s.tell(ctx)
		if err != nil {
			return err
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// tell tells what is new, and whether there may be more of it.
func (s *stream) tell(ctx context.Context) (more bool, err error) {
	entries, err := s.view.Since(ctx, s.after, batch)
	if err != nil {
		return false, err
	}
	if len(entries) == 0 {
		return false, s.quiet(ctx)
	}
	n, err := s.of(ctx, entries)
	if err != nil {
		return false, err
	}
	s.after = entries[len(entries)-1].Seq
	s.looked, s.state = time.Now(), [2]any{} // the state is told again when no more is recorded
	return len(entries) == batch, s.send("news", s.after, n)
}

// of is the news of entries.
func (s *stream) of(ctx context.Context, entries []study.Entry) (*news, error) {
	n := &news{Rounds: []reals{}}
	first := map[int]int{} // round of each trial that has new ones
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
	if len(first) == 0 {
		return n, nil
	}
	return n, s.weigh(ctx, n.Rounds, first)
}

// weigh puts into rows of rounds the scores with those of earlier rounds weighed in,
// where the study has that.
func (s *stream) weigh(ctx context.Context, rows []reals, first map[int]int) error {
	o, err := s.view.Overview(ctx)
	if err != nil || o.Config.Score.Discount == 0 {
		return err
	}
	for number, from := range first {
		at := slices.IndexFunc(o.Trials, func(t view.Trial) bool { return t.Number == number })
		if at < 0 {
			continue
		}
		curve, err := s.view.Curve(ctx, &o.Trials[at], from-1, o.Config.Score.Discount)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if i := int(row[1]) - from; int(row[0]) == number && i < len(curve) {
				row[2] = curve[i].Mean
			}
		}
	}
	return nil
}

// quiet looks, when nothing new is recorded, whether a process works on the study,
// and whether its record is still the one that was told.
func (s *stream) quiet(ctx context.Context) error {
	if time.Since(s.looked) >= calm {
		if err := s.look(ctx); err != nil {
			return err
		}
	}
	if time.Since(s.told) < heartbeat {
		return nil
	}
	return s.write(": still here\n\n")
}

// look tells the state of the study when it is another one, and when its record is
// not the one that was told any more.
func (s *stream) look(ctx context.Context) error {
	s.looked = time.Now()
	o, err := s.view.Overview(ctx)
	if err != nil {
		return err
	}
	if o.Seq < s.after {
		if err := s.send("cut", 0, struct{}{}); err != nil {
			return err
		}
		return errShorter
	}
	now := [2]any{o.State, o.PID}
	if now == s.state {
		return nil
	}
	if o.PID == 0 {
		if err := s.reopen(ctx); err != nil {
			return err
		}
	}
	if rest, err := s.view.Since(ctx, s.after, 1); err != nil || len(rest) > 0 {
		return err // recorded meanwhile: the state is told behind it
	}
	s.state = now
	return s.send("state", 0, map[string]any{"state": o.State})
}

// reopen opens the record anew. What a process was killed while it recorded shows only when
// SQLite recovers its log, which it does for the first to open it.
func (s *stream) reopen(ctx context.Context) error {
	v, dir := s.view, s.view.Dir()
	if err := v.Close(); err != nil {
		return err
	}
	v, err := view.Look(ctx, dir)
	if err == nil {
		s.view = v
	}
	return err
}

// send writes an event. One without a number leaves that of the last one to come
// back with.
func (s *stream) send(kind string, id int64, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	head := ""
	if id > 0 {
		head = "id: " + strconv.FormatInt(id, 10) + "\n"
	}
	return s.write(head + "event: " + kind + "\ndata: " + string(text) + "\n\n")
}

// write writes to the page at once.
func (s *stream) write(text string) error {
	s.told = time.Now()
	if _, err := s.to.Write([]byte(text)); err != nil {
		return err
	}
	return s.flush()
}
