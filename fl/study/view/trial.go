package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// Trial is a trial of a study, but for its rounds.
type Trial struct {
	Number int
	State  State
	Params tuners.Params
	// Source is the trial that it was forked from, after First rounds; nil and 0
	// for a trial of its own.
	Source *int
	First  int
	// Reference is set for the last one where it has the configured values, which no tuner asked for.
	Reference bool
	// Rounds are those that the trial has run, To those that it was last sent to.
	Rounds, To int
	// Rungs are where the tuner decided about it, in order.
	Rungs []Rung
	// Failed says why it cannot go on.
	Failed string
	// Act is the one of a person that ended the trial, empty for none.
	Act string
	// Opened is when the trial began, Last when it ran its newest round: then Opened
	// where it ran none.
	Opened, Last time.Time
	// Seq is the entry that opened it.
	Seq int64
}

// Rung is a score at which the tuner decides about a trial.
type Rung struct {
	Round int
	Score float64
	// Values are the values of all objectives and constraints, by metric; nil with one objective.
	Values map[string]float64
	// Spent are the rounds that all trials together had run for the rungs up to this
	// one, in the order of the tuner's decisions: that in which trials at work together
	// reach their rungs depends on the machine.
	Spent int
	At    time.Time
	Seq   int64

	decided int // which decision of the tuner led to it
}

// Score returns that of the newest rung, nil before the first.
func (t *Trial) Score() *float64 {
	if len(t.Rungs) == 0 {
		return nil
	}
	return &t.Rungs[len(t.Rungs)-1].Score
}

// Values are the values of the newest rung, nil before the first.
func (t *Trial) Values() map[string]float64 {
	if len(t.Rungs) == 0 {
		return nil
	}
	return t.Rungs[len(t.Rungs)-1].Values
}

// LeastTrials is how many trials must have reached a rung before they are compared there.
const LeastTrials = 15

// AtRung returns the scores, by their places, of the trials that count at the longest rung that
// LeastTrials of them have reached, else at the first one, and where it is: "round 12", or "rung 2"
// where rungs are not at rounds.
func (o *Overview) AtRung(counts func(*Trial) bool) (where string, scores map[int]float64) {
	at := map[int]map[int]float64{}
	for i := range o.Suggested() {
		if !counts(&o.Trials[i]) {
			continue
		}
		for k, r := range o.Trials[i].Rungs {
			if !o.Config.Budget.InRounds() {
				r.Round = k + 1
			}
			if at[r.Round] == nil {
				at[r.Round] = map[int]float64{}
			}
			at[r.Round][i] = r.Score
		}
	}
	for _, round := range slices.Sorted(maps.Keys(at)) {
		if scores == nil || len(at[round]) >= LeastTrials {
			scores, where = at[round], fmt.Sprintf("round %d", round)
			if !o.Config.Budget.InRounds() {
				where = fmt.Sprintf("rung %d", round)
			}
		}
	}
	return where, scores
}

// Reason says why the trial failed, or which act of a person ended it; empty for any
// other.
func (t *Trial) Reason() string {
	if t.Failed == "" && t.Act != "" {
		return result.ActReason(t.Act)
	}
	return t.Failed
}

// since returns after which round the segment with a round began: the rung before it,
// or where the trial began.
func (t *Trial) since(round int) int {
	from := t.First
	for _, r := range t.Rungs {
		if r.Round < round {
			from = r.Round
		}
	}
	return from
}

// builder makes an overview of entries.
type builder struct {
	o       *Overview
	fork    map[int]int
	sent    map[int]int
	stopped map[int]bool
	decided map[int]int // with which decision a trial was sent to its newest rung
	made    int         // decisions
}

// trial returns a trial that was opened, nil for one that was not.
func (b *builder) trial(number int) *Trial {
	for i := len(b.o.Trials) - 1; i >= 0; i-- {
		if b.o.Trials[i].Number == number {
			return &b.o.Trials[i]
		}
	}
	return nil
}

// read takes in a row.
func (b *builder) read(r store.Row) error {
	if r.Kind == store.KindSession {
		b.o.Sessions = append(b.o.Sessions, result.ReadSession(r))
		return nil
	}
	e, err := result.ReadEntry(r)
	if err != nil {
		return err
	}
	for _, d := range e.Decisions {
		switch d.Kind {
		case tuners.Start, tuners.Resume, tuners.Fork:
			b.made++
			b.sent[d.Trial], b.decided[d.Trial] = d.ToRound, b.made
		case tuners.Stop:
			b.stopped[d.Trial] = true
		case tuners.Release, tuners.Wait, tuners.Done, tuners.Score, tuners.Local:
		}
	}
	switch e.Kind {
	case store.KindTrial:
		b.o.Trials = append(b.o.Trials, Trial{
			Number: e.Trial, Params: e.Opened.Params, Source: e.Opened.Source,
			Reference: e.Opened.Reference, First: e.Round, Rounds: e.Round, Opened: e.At, Last: e.At, Seq: e.Seq,
		})
	case store.KindRung:
		if t := b.trial(e.Trial); t != nil {
			t.Rungs = append(t.Rungs, Rung{
				Round: e.Round, Score: *e.Score, Values: e.Values, Spent: e.Round - t.since(e.Round), At: e.At, Seq: e.Seq,
				decided: b.decided[e.Trial],
			})
		}
	case store.KindFail:
		if t := b.trial(e.Trial); t != nil {
			t.Failed = *e.Failed
		}
	case store.KindAct:
		b.o.Acts = append(b.o.Acts, Act{e.At, *e.Act, e.Trial, e.Round})
		if t := b.trial(e.Trial); t != nil {
			t.Act = *e.Act
		}
	case store.KindFinalist:
		b.o.Finalists = append(b.o.Finalists, Finalist{e.Trial, e.Round, *e.Score})
	}
	return nil
}

// finish fills in what the newest rounds tell.
func (b *builder) finish(last map[int]store.Latest) {
	o := b.o
	if o.Budget = o.Config.Budget.Rounds; !o.Config.Budget.InRounds() {
		o.Budget = 0
	}
	if o.Mode == config.ModeRun {
		o.Budget = o.Config.Rounds
	}
	var rungs []*Rung
	for i := range o.Suggested() {
		rungs = append(rungs, list.Made(len(o.Trials[i].Rungs), func(k int) *Rung { return &o.Trials[i].Rungs[k] })...)
	}
	slices.SortStableFunc(rungs, func(a, b *Rung) int { return cmp.Compare(a.decided, b.decided) })
	for k, r := range rungs[min(1, len(rungs)):] {
		r.Spent += rungs[k].Spent
	}
	longest := 0
	for i := range o.Trials {
		t := &o.Trials[i]
		if l, ok := last[t.Number]; ok {
			t.Rounds, t.Last = l.Round, l.At
		}
		switch t.To = b.sent[t.Number]; {
		case o.Mode == config.ModeRun:
			t.To = o.Config.Rounds
		case t.Reference:
			t.To = longest
		}
		if !t.Reference {
			o.Rounds += t.Rounds - t.First
			longest = max(longest, t.Rounds)
		}
		t.State = b.state(t)
	}
}

// state says how far a trial is.
func (b *builder) state(t *Trial) State {
	whole := t.Rounds >= b.o.Config.Budget.TrialRounds
	if most := b.o.Config.Budget.Tuners(); !most.InRounds() {
		whole = b.sent[t.Number] >= most.TrialRounds
	}
	ended := b.o.Tune != nil || b.o.Run != nil
	switch {
	case t.Failed != "":
		return Failed
	case t.Act != "" || b.stopped[t.Number] && !whole:
		return Pruned
	case b.stopped[t.Number] || ended || whole && len(t.Rungs) > 0 && t.Rungs[len(t.Rungs)-1].Round == t.Rounds:
		return Completed
	case b.o.State == Running:
		return Running
	}
	return Interrupted
}
