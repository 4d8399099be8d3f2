package wire

import (
	"encoding/hex"
	"fmt"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Bounds on what the other side sends, checked before it is used. The README lists
// them together with the bounds elsewhere.
const (
	maxName      = 256           // bytes of a name: of a host, a CPU, a version or a level
	maxNumber    = math.MaxInt32 // trials, rounds, slots, processes
	MaxResult    = 64 << 10      // bytes of a result within a request; larger ones are blobs
	maxPanic     = 64 << 10      // bytes of a panic's message, and of its stack
	MaxWorkers   = 1 << 14       // workers that join during one process of the coordinator
	minHeartbeat = time.Millisecond
	maxHeartbeat = time.Hour
)

// DigestSize is the length of a SHA-256 in hexadecimal.
const DigestSize = 64

// isDigest reports whether a name names a blob with a tag.
func isDigest(name, tag string) bool {
	if len(name) != DigestSize+len(tag) || name[DigestSize:] != tag {
		return false
	}
	_, err := hex.DecodeString(name[:DigestSize])
	return err == nil
}

// countable reports whether all numbers are valid counts.
func countable(numbers ...int) bool {
	return !slices.ContainsFunc(numbers, func(n int) bool { return n < 0 || n > maxNumber })
}

// Wrong describes what is invalid in a hello, empty for nothing.
func (h *Hello) Wrong() string {
	for _, name := range []string{h.Version, h.Level, h.Host, h.CPU} {
		if len(name) > maxName {
			return fmt.Sprintf("name of %d bytes, want at most %d", len(name), maxName)
		}
	}
	if !countable(h.PID, h.Workers) {
		return fmt.Sprintf("process %d with %d workers, want 0 to %d", h.PID, h.Workers, maxNumber)
	}
	return ""
}

// Plain makes the names in a hello safe to be shown and recorded.
func (h *Hello) Plain() { h.Host, h.CPU = oneline.Name(h.Host), oneline.Of(h.CPU) }

// Wrong describes what is invalid in a request, empty for nothing; tag comes from the
// study's blobs.
func (t *Request) Wrong(tag string) string {
	switch t.State {
	case StateIdle, StateReady, StateRound, StateFetched, StateShared, StateFailed, StateBye:
	default:
		return fmt.Sprintf("unknown state %.20q", t.State)
	}
	if t.Seq < 1 || t.Lease < 0 || !countable(t.Trial, t.Rounds, t.Lo, t.Hi) {
		return fmt.Sprintf("request %d, lease %d, trial %d, round %d, slots [%d,%d): out of range", t.Seq, t.Lease, t.Trial,
			t.Rounds, t.Lo, t.Hi)
	}
	for _, name := range []string{t.Blob, t.Model, t.Snapshot} {
		if name != "" && !isDigest(name, tag) {
			return fmt.Sprintf("invalid blob name %.20q", name)
		}
	}
	if t.Sum != "" && !isDigest(t.Sum, "") {
		return fmt.Sprintf("invalid digest %.20q", t.Sum)
	}
	if len(t.Result) > MaxResult {
		return fmt.Sprintf("inline result of %d bytes, want at most %d", len(t.Result), MaxResult)
	}
	return ""
}

// Plain shortens the texts in a request.
func (t *Request) Plain() {
	t.Problem = oneline.Of(t.Problem)
	t.Panic, t.Stack = t.Panic[:min(len(t.Panic), maxPanic)], t.Stack[:min(len(t.Stack), maxPanic)]
}

// Wrong describes what is invalid in a welcome, empty for nothing.
func (w *Welcome) Wrong() string {
	heartbeat := time.Duration(w.Heartbeat) * time.Millisecond
	switch {
	case w.Heartbeat > int64(maxHeartbeat/time.Millisecond) || heartbeat < minHeartbeat:
		return fmt.Sprintf("heartbeat of %d ms, want %d to %d", w.Heartbeat, minHeartbeat.Milliseconds(),
			maxHeartbeat.Milliseconds())
	case !IsToken(w.Worker):
		return "invalid worker token"
	case len(w.Tag) > maxName:
		return fmt.Sprintf("tag of %d bytes, want at most %d", len(w.Tag), maxName)
	}
	return ""
}

// wrong describes what is invalid in an order, empty for nothing; tag comes from the
// study's blobs.
func (o *Order) wrong(tag string) string {
	if o.Lease < 0 || !countable(o.Trial, o.Rounds) {
		return fmt.Sprintf("lease %d, trial %d, round %d: out of range", o.Lease, o.Trial, o.Rounds)
	}
	if o.Snapshot != "" && !isDigest(o.Snapshot, tag) {
		return fmt.Sprintf("invalid blob name %.20q", o.Snapshot)
	}
	if t := o.Task; t != nil && (!isDigest(t.Weights, tag) || !countable(t.Lo, t.Hi)) {
		return fmt.Sprintf("invalid task: slots [%d,%d), blob %.20q", t.Lo, t.Hi, t.Weights)
	}
	if o.Plan == nil && (o.Order == OrderRound || o.Order == OrderShare) {
		return "round without a plan"
	}
	return ""
}

// wrong describes what is invalid in a join file, empty for nothing.
func (j *Join) wrong() string {
	for _, address := range j.URLs {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" {
			return fmt.Sprintf("invalid address %s: must be nats://HOST:PORT or tls://HOST:PORT",
				oneline.Name(hideUser(address)))
		}
	}
	return ""
}
