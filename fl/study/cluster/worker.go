package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/worker"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// WorkerOptions configure a worker. None of them affects a result.
type WorkerOptions struct {
	// Join is the path of the join file, which need not exist yet.
	Join string
	// Data is the path of the data on this machine. Empty means the study's data.path.
	Data string
	// Credentials is the path of a credentials file for an external NATS server.
	// Empty means none.
	Credentials string
	// Version is the version of this program.
	Version string
	// Workers is the maximum number of concurrent clients (0: number of CPUs).
	Workers int
	// Ended reports whether the study already has its result, so that the join file
	// will not be written again. Nil means it never has.
	Ended func() bool
	// Notice receives progress messages. Nil disables them.
	Notice func(line string)
	// Patience is how long the worker tries to reach a lost coordinator
	// (0: 10 minutes).
	Patience time.Duration
}

// RefusedError is returned when a coordinator refuses a worker. Its field Why is the reason.
type RefusedError = wire.RefusedError

// Work joins the cluster of a join file, as soon as the file exists, and trains until
// the study ends, or until ctx ends and the current trial is handed over. If the
// coordinator is lost it waits for a resumed one as long as the join file exists: a
// study removes its join file when it ends.
func Work(ctx context.Context, o WorkerOptions) error {
	of := worker.Options(o)
	return worker.New(of, worker.Studies(of)).Work(ctx)
}

// Folder is the folder of a cluster in the study's directory, and JoinFile the file in it
// that workers need to join. Whoever can read it can join.
const (
	Folder   = wire.Folder
	JoinFile = wire.JoinFile
)

// CheckAddress returns an error unless an address is HOST:PORT or the URL of an external
// NATS server.
func CheckAddress(address string) error { return wire.CheckAddress(address) }

// vigil tracks how long trials have waited without any worker.
type vigil struct {
	first time.Duration // time before the first notice
	since time.Time     // zero if nothing waits
	next  time.Duration // when the next notice is due
}

func newVigil() vigil { return vigil{first: 5 * time.Second} }

// look reports that trials wait: soon, then less and less often. Workers join with the join
// file at a path.
func (v *vigil) look(waits bool, joined int, notice func(string), path string) {
	if !waits {
		v.since = time.Time{}
		return
	}
	if v.since.IsZero() {
		v.since, v.next = time.Now(), v.first
	}
	waited := time.Since(v.since)
	if waited < v.next {
		return
	}
	v.next = min(2*v.next, v.next+time.Hour)
	so := "none has joined yet"
	if joined > 0 {
		so = fmt.Sprintf("%d joined so far, none left", joined)
	}
	notice(fmt.Sprintf("no worker for %v (%s); add one with: fedfast worker --join %s", waited.Round(time.Second), so,
		oneline.Path(path)))
}
