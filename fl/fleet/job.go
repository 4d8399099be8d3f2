package fleet

import (
	"math"

	"github.com/fedfast/fedfast/internal/nanos"
	"github.com/fedfast/fedfast/kernels/det"
)

// Job is the work of one client for one update.
type Job struct {
	// Client is the number of the client in the federation.
	Client int
	// Sequence keys the draws of the job.
	Sequence uint64
	// Start is when the client is asked, >= 0.
	Start int64
	// FLOPs are the operations of the local training, >= 0.
	FLOPs float64
	// Down and Up are the bytes to receive before it and to send after it, >= 0.
	Down, Up int64
}

// Outcome is when the parts of a job end. Those that a failed job did not reach end with
// the failure.
type Outcome struct {
	// Received, Computed and End are the ends of the download, of the local
	// training, and of the upload.
	Received, Computed, End int64
	// Failed reports that the update does not arrive: End is when the client failed.
	Failed bool
}

// Run returns when the parts of a job end.
func (f *Fleet) Run(j Job) Outcome {
	d := f.device(j.Client)
	down := nanos.Of(f.cfg.Latency + float64(j.Down)/f.transfer(drawDown, j, d.Down, d.down))
	train := nanos.Of(j.FLOPs / d.FLOPS)
	up := nanos.Of(float64(j.Up) / f.transfer(drawUp, j, d.Up, d.up))
	w := walk{f: f, client: j.Client, now: j.Start, left: nanos.Add(nanos.Add(down, train), up)}
	if end, fails := f.failure(j, w.left); fails {
		w.left, w.failed = end, true
	}
	var o Outcome
	o.Received = w.work(down)
	o.Computed = w.work(train)
	o.End = w.work(up)
	o.Failed = w.failed
	return o
}

// transfer returns the speed of a transfer in bytes a second.
func (f *Fleet) transfer(what uint64, j Job, mean, sigma float64) float64 {
	if sigma == 0 {
		return mean
	}
	z := probit(f.unit(what, j.Client, j.Sequence))
	return max(float64(mean*det.Exp(float64(sigma*z)-float64(sigma*sigma)/2)), min(slowest, mean))
}

// failure returns whether a job fails, and after how much of its work, in nanoseconds.
func (f *Fleet) failure(j Job, work int64) (after int64, fails bool) {
	after = math.MaxInt64
	if k := f.key(drawDropout, j.Client, j.Sequence); f.cfg.Dropout > 0 && det.Unit(k) < f.cfg.Dropout {
		after, fails = int64(float64(open(det.Mix(k))*float64(work))), true
	}
	if f.cfg.Hazard > 0 {
		if t := nanos.Of(-det.Log(f.unit(drawHazard, j.Client, j.Sequence)) / f.cfg.Hazard); t < min(after, work) {
			after, fails = t, true
		}
	}
	return after, fails
}

// maxPauses is how often a job may pause before it fails.
const maxPauses = 1 << 20

// walk is a client at its work.
type walk struct {
	f      *Fleet
	client int
	now    int64
	left   int64 // work before the job ends, or fails
	failed bool
	ended  bool // nothing more is done
}

// work has the client work for some nanoseconds, unless the job has failed, and returns
// when that ends.
func (w *walk) work(need int64) int64 {
	if w.ended {
		return w.now
	}
	if w.failed && need >= w.left {
		need, w.ended = w.left, true
	}
	w.left -= need
	if w.f.when == nil {
		w.now = nanos.Add(w.now, need)
		return w.now
	}
	for pauses := 0; need > 0; pauses++ {
		on, until := w.f.Available(w.client, w.now)
		switch {
		case on && need <= until-w.now:
			w.now, need = w.now+need, 0
			continue
		case on:
			need -= until - w.now
		case until == math.MaxInt64 || w.f.cfg.Offline != offlinePause || pauses > maxPauses:
			w.failed, w.ended = true, true
			return w.now
		}
		w.now = until
	}
	return w.now
}
