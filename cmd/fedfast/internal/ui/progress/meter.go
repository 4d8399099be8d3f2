package progress

import (
	"fmt"
	"time"

	"github.com/fedfast/fedfast/fl/study"
)

// meter measures how fast a study is.
type meter struct {
	since   time.Time
	ended   int           // rounds since then, or trials of a preparation
	first   int           // what was spent when it began
	before  int           // trials of a preparation that an earlier run had recorded
	clients int           // that trained in the rounds
	each    time.Duration // of a round, or of another unit of the budget; 0 before one
	// evaluations and random are the work after the rounds, in multiples of that of all
	// rounds.
	evaluations, random float64
}

// add counts a round that has ended, or a trial of a preparation. It begins anew
// with the first round after a preparation, which begun says, and with one that
// was read from a record: neither tells how long rounds take.
func (m *meter) add(p study.Progress, begun bool, now time.Time) {
	switch {
	case p.Preparing:
		if m.ended == 0 {
			m.before = p.Round - 1
		}
		m.ended = p.Round - m.before
	case begun || p.Clients == 0:
		*m = meter{since: now, first: p.Round, evaluations: m.evaluations, random: m.random}
	default:
		m.ended++
		m.clients += p.Clients
		n := m.ended
		if unit(p) != "round " {
			n = max(1, p.Round-m.first)
		}
		m.each = now.Sub(m.since) / time.Duration(n)
	}
}

// rest estimates the time of what comes after all rounds.
func (m *meter) rest(p study.Progress) (evaluations, random time.Duration) {
	all := float64(m.each) * float64(p.Rounds)
	return time.Duration(m.evaluations * all), time.Duration(m.random * all)
}

// remaining estimates the time left from the mean time of a round, with all that comes
// after the rounds.
func (m *meter) remaining(p study.Progress, now time.Time) string {
	switch {
	case p.Rounds == 0 || p.Preparing && p.Rounds <= p.Round:
		return ""
	case p.Rounds <= p.Round:
		return "now evaluating"
	case m.ended == 0:
		return ""
	case p.Preparing:
		text := duration(left(m.since, now, m.ended, p.Rounds-p.Round)) + " left to prepare"
		if !p.Local {
			text = "up to " + text
		}
		return text
	}
	evaluations, random := m.rest(p)
	return eta(m.each*time.Duration(p.Rounds-p.Round) + evaluations + random)
}

// eta writes an estimate of the time left.
func eta(t time.Duration) string { return "ETA " + duration(t) }

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
	begun   time.Time // when the first model's had been
}

// add takes note of clients that have been measured. It begins anew with each model.
func (m *examMeter) add(e study.Evaluated, now time.Time) {
	if m.since.IsZero() || e.Model != m.model || e.Of != m.of {
		if m.begun.IsZero() {
			m.begun = now
		}
		*m = examMeter{e.Model, e.Of, now, e.Clients, m.begun}
	}
}

// remaining estimates the time left for the model, from the mean time of a client; 0 is
// unknown.
func (m *examMeter) remaining(e study.Evaluated, now time.Time) time.Duration {
	if e.Clients <= m.clients || e.Clients >= e.Of {
		return 0
	}
	return left(m.since, now, e.Clients-m.clients, e.Of-e.Clients)
}

// left estimates the time for more rounds or clients from the time since then, which
// done of them took.
func left(since, now time.Time, done, more int) time.Duration {
	return now.Sub(since) / time.Duration(done) * time.Duration(more)
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
