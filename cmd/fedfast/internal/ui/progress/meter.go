package progress

import (
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl/study"
)

// meter measures how fast a study is.
type meter struct {
	since   time.Time
	ended   int // rounds since then, or trials of a preparation
	before  int // trials of a preparation that an earlier run had recorded
	clients int // that trained in the rounds
}

// add counts a round that has ended, or a trial of a preparation. It begins anew
// with the first round behind a preparation, which begun says, and with one that
// was read from a record: neither tells how long rounds take.
func (m *meter) add(p study.Progress, begun bool, now time.Time) {
	switch {
	case p.Preparing:
		if m.ended == 0 {
			m.before = p.Round - 1
		}
		m.ended = p.Round - m.before
	case begun || p.Clients == 0:
		*m = meter{since: now}
	default:
		m.ended++
		m.clients += p.Clients
	}
}

// remaining estimates the time left from the mean time of a round. It is that of
// the rounds: what evaluations take is not known before them.
func (m *meter) remaining(p study.Progress, now time.Time) string {
	switch {
	case p.Rounds == 0 || p.Preparing && p.Rounds <= p.Round:
		return ""
	case p.Rounds <= p.Round:
		return "now evaluating"
	case m.ended == 0:
		return ""
	}
	text := left(m.since, now, m.ended, p.Rounds-p.Round)
	if p.Preparing {
		return text + " to prepare"
	}
	return text + " to train"
}

// rate tells how many clients train in a second.
func (m *meter) rate(now time.Time) string {
	seconds := now.Sub(m.since).Seconds()
	if m.clients == 0 || seconds <= 0 {
		return ""
	}
	rate := float64(m.clients) / seconds
	if rate < 9.95 {
		return fmt.Sprintf("%.1f clients/s", rate)
	}
	return fmt.Sprintf("%.0f clients/s", rate)
}

// examMeter measures how fast models are evaluated.
type examMeter struct {
	model   string
	of      int
	since   time.Time // when the first clients of the model had been measured
	clients int       // how many these were
}

// add takes note of clients that have been measured. It begins anew with each model.
func (m *examMeter) add(e study.Evaluated, now time.Time) {
	if m.since.IsZero() || e.Model != m.model || e.Of != m.of {
		*m = examMeter{e.Model, e.Of, now, e.Clients}
	}
}

// remaining estimates the time left for the model, from the mean time of a client.
func (m *examMeter) remaining(e study.Evaluated, now time.Time) string {
	if e.Clients <= m.clients || e.Clients >= e.Of {
		return ""
	}
	return left(m.since, now, e.Clients-m.clients, e.Of-e.Clients)
}

// left estimates the time for more rounds or clients from the time since then, which
// done of them took.
func left(since, now time.Time, done, more int) string {
	return duration(now.Sub(since)/time.Duration(done)*time.Duration(more)) + " left"
}

// duration writes a time in its two largest units, so that it changes its width
// seldom.
func duration(t time.Duration) string {
	switch t = t.Round(time.Second); {
	case t >= 24*time.Hour:
		return fmt.Sprintf("%dd%02dh", t/(24*time.Hour), t%(24*time.Hour)/time.Hour)
	case t >= time.Hour:
		return fmt.Sprintf("%dh%02dm", t/time.Hour, t%time.Hour/time.Minute)
	case t >= time.Minute:
		return fmt.Sprintf("%dm%02ds", t/time.Minute, t%time.Minute/time.Second)
	}
	return fmt.Sprintf("%ds", t/time.Second)
}
