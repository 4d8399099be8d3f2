package cluster

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/url"
	"os"
	"time"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Bounds on what the other side says, which hold before anything is done with it. The
// README lists them with those that lie elsewhere.
const (
	mostName    = 256           // bytes of a name: of a host, a CPU, a version or a level
	mostNumber  = math.MaxInt32 // trials, rounds, slots, processes
	mostPanic   = 64 << 10      // bytes of what a panic says, and of its stack
	mostWorkers = 1 << 14       // workers that join a study, in one process of the coordinator
	mostJoin    = 1 << 20       // bytes of a join file or of a certificate
	leastBeat   = time.Millisecond
	mostBeat    = time.Hour
)

// digestSize is the length of a SHA-256 in hexadecimal.
const digestSize = 64

// isDigest says whether a name is that of a blob with a tag.
func isDigest(name, tag string) bool {
	if len(name) != digestSize+len(tag) || name[digestSize:] != tag {
		return false
	}
	_, err := hex.DecodeString(name[:digestSize])
	return err == nil
}

// countable says whether all numbers count something.
func countable(numbers ...int) bool {
	for _, n := range numbers {
		if n < 0 || n > mostNumber {
			return false
		}
	}
	return true
}

// wrong says what in a hello cannot be, empty for nothing.
func (h *hello) wrong() string {
	for _, name := range []string{h.Version, h.Level, h.Host, h.CPU} {
		if len(name) > mostName {
			return fmt.Sprintf("it has a name of %d bytes: at most %d", len(name), mostName)
		}
	}
	if !countable(h.PID, h.Workers) {
		return fmt.Sprintf("it is process %d with %d workers: must be 0 to %d", h.PID, h.Workers, mostNumber)
	}
	return ""
}

// plain makes the names in a hello fit to be shown and recorded.
func (h *hello) plain() {
	h.Host, h.CPU = oneline.Name(h.Host), oneline.Of(h.CPU)
}

// wrong says what in a turn cannot be, empty for nothing; tag is that of the study's
// blobs.
func (t *turn) wrong(tag string) string {
	switch t.State {
	case stateIdle, stateReady, stateRound, stateFetched, stateShared, stateFailed, stateBye:
	default:
		return fmt.Sprintf("a state %.20q", t.State)
	}
	if t.Seq < 1 || t.Lease < 0 || !countable(t.Trial, t.Rounds, t.Lo, t.Hi) {
		return fmt.Sprintf("turn %d with lease %d of trial %d, round %d, slots %d to %d", t.Seq, t.Lease, t.Trial, t.Rounds, t.Lo, t.Hi)
	}
	for _, name := range []string{t.Blob, t.Model, t.Snapshot} {
		if name != "" && !isDigest(name, tag) {
			return fmt.Sprintf("a blob %.20q", name)
		}
	}
	if len(t.Result) > inline {
		return fmt.Sprintf("a result of %d bytes, of which %d may come without a blob", len(t.Result), inline)
	}
	return ""
}

// plain cuts what a turn says in words.
func (t *turn) plain() {
	t.Problem = oneline.Of(t.Problem)
	t.Panic, t.Stack = t.Panic[:min(len(t.Panic), mostPanic)], t.Stack[:min(len(t.Stack), mostPanic)]
}

// wrong says what in a welcome cannot be, empty for nothing.
func (w *welcome) wrong() string {
	beat := time.Duration(w.Beat) * time.Millisecond
	switch {
	case w.Beat > int64(mostBeat/time.Millisecond) || beat < leastBeat:
		return fmt.Sprintf("a beat of %d ms: must be %d to %d", w.Beat, leastBeat.Milliseconds(), mostBeat.Milliseconds())
	case !isToken(w.Worker):
		return "no token of a worker"
	case len(w.Tag) > mostName:
		return fmt.Sprintf("a tag of %d bytes", len(w.Tag))
	}
	return ""
}

// wrong says what in an order cannot be, empty for nothing; tag is that of the study's
// blobs.
func (o *order) wrong(tag string) string {
	if o.Lease < 0 || !countable(o.Trial, o.Rounds) {
		return fmt.Sprintf("lease %d of trial %d, round %d", o.Lease, o.Trial, o.Rounds)
	}
	if o.Snapshot != "" && !isDigest(o.Snapshot, tag) {
		return fmt.Sprintf("a blob %.20q", o.Snapshot)
	}
	if t := o.Task; t != nil && (!isDigest(t.Weights, tag) || !countable(t.Lo, t.Hi)) {
		return fmt.Sprintf("a task of slots %d to %d with blob %.20q", t.Lo, t.Hi, t.Weights)
	}
	if o.Plan == nil && (o.Order == orderRound || o.Order == orderShare) {
		return "a round without a plan"
	}
	return ""
}

// wrong says what in a join file cannot be, empty for nothing.
func (j *join) wrong() string {
	for _, address := range j.URLs {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return fmt.Sprintf("its address %s is none: must be nats://HOST:PORT or tls://HOST:PORT", oneline.Name(hideUser(address)))
		}
	}
	return ""
}

// readSmall reads a file that is a small one.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		wrong.Op = "open"
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe may wait for ever
		return nil, fmt.Errorf("%s: must be a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, mostJoin+1))
	if err == nil && len(text) > mostJoin {
		err = fmt.Errorf("%s: must have at most %d bytes", path, mostJoin)
	}
	return text, err
}
