package cluster

import (
	"cmp"
	"time"
)

// Options configure a coordinator. None of them affects a result.
type Options struct {
	// Version is the version of this program. Workers of another version are refused.
	Version string
	// Credentials is the path of a credentials file for an external NATS server.
	// Empty means none.
	Credentials string
	// CA is the path of the CA certificate of an external server. Empty means the
	// system's certificate authorities.
	CA string
	// Notice receives progress messages, from several goroutines. Nil disables them.
	Notice func(line string)
	// Rounds decides whether workers share rounds. Empty means RoundsAuto.
	Rounds Rounds
	// Audit is the share of the rounds, and of the parts of shared ones, that are trained
	// twice and compared, from 0 to 1: on another worker, or by the coordinator where none
	// is idle. A secret of the coordinator draws which.
	Audit float64

	secret string // of audits, for tests; empty draws one
	// Heartbeat is the interval of the workers' heartbeats (0: 2 s). A worker that
	// sends none for Silence (0: 30 s) is lost; one whose connection is closed is
	// lost after two missing heartbeats.
	Heartbeat, Silence time.Duration
	// Late is the minimum duration of a round (0: 10 s) before an idle worker trains
	// it too. The round must also take much longer than the others did.
	Late time.Duration
}

func (o *Options) fill() {
	o.Rounds, o.Heartbeat = cmp.Or(o.Rounds, RoundsAuto), cmp.Or(o.Heartbeat, 2*time.Second)
	o.Silence, o.Late = cmp.Or(o.Silence, 30*time.Second), cmp.Or(o.Late, 10*time.Second)
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
}
