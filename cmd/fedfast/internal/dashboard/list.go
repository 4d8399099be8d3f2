package dashboard

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// list remembers what studies have come to. One whose files are as they were is not read again.
type list struct {
	mu   sync.Mutex
	last map[string]seen
}

// seen is a study as it was, until its mark is another one.
type seen struct {
	mark  string
	at    time.Time
	entry Entry
}

// again is after how long a study that could not be read is tried again.
const again = time.Minute

// Studies are all that there are below a folder.
type Studies struct {
	Studies []Entry `json:"studies"`
	Unread  int     `json:"unread"` // folders that cannot be read
}

// List reads what there is below a folder, the newest first, seeds of one configuration as one.
func List(ctx context.Context, root string) (*Studies, error) {
	return (&list{}).read(ctx, &Server{Root: root})
}

// read lists what there is below the root, the newest first, seeds of one configuration as one.
func (l *list) read(ctx context.Context, s *Server) (*Studies, error) {
	l.mu.Lock() // who asks meanwhile gets the same
	defer l.mu.Unlock()
	dirs, unread, err := view.Below(ctx, s.Root)
	all := &Studies{[]Entry{}, unread}
	now, places := map[string]seen{}, map[string]int{} // of entries of seeds
	defer func() { l.last = now }()
	for _, dir := range dirs {
		mark, _ := markOf(dir)
		x, known := l.last[dir]
		if !known || x.mark != mark || x.entry.Problem != "" && time.Since(x.at) > again {
			x = seen{mark, time.Now(), s.entry(ctx, dir)}
		}
		if ctx.Err() != nil {
			maps.Copy(now, l.last) // for who asks next
			return nil, ctx.Err()
		}
		now[dir] = x
		parent := filepath.Dir(dir)
		if x.entry.Problem != "" || dir == s.Root || parent == filepath.Clean(s.Root) || !workdir.HoldsSeeds(parent) {
			all.Studies = append(all.Studies, x.entry)
			continue
		}
		at, begun := places[parent]
		if !begun {
			at = len(all.Studies)
			places[parent] = at
			all.Studies = append(all.Studies, Entry{Dir: s.below(parent)})
		}
		all.Studies[at].Seeds = append(all.Studies[at].Seeds, x.entry)
	}
	for parent, at := range places {
		notes, _ := view.ReadNotes(parent) // the list shows them without
		all.Studies[at].sum(notes)
	}
	slices.SortStableFunc(all.Studies, func(a, b Entry) int { return b.begun().Compare(a.begun()) })
	return all, err
}

// entry sums a study up.
func (s *Server) entry(ctx context.Context, dir string) Entry {
	o, err := view.Brief(ctx, dir, view.Patience)
	if err != nil {
		return Entry{Dir: s.below(dir), Problem: oneline.Of(err.Error())}
	}
	return s.head(o)
}
