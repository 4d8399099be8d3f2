package meter

import (
	"cmp"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/internal/clock"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
)

// What config.AutoEvery stands for.
const (
	autoPoints  = 20  // measurements of a trial
	autoClients = 100 // clients at most
	fewClients  = 25  // clients that are kept before measurements become rarer
	fewPersonal = 10  // the same where each client trains to be measured
	// AutoShare is the most that the measurements take of the training's
	// multiply-adds.
	AutoShare = 0.05
)

// AutoPoints returns how many measurements config.AutoEvery takes during a number of
// rounds of a trial of a given length, and on how many of n clients, before AutoShare
// bounds them.
func AutoPoints(rounds, trialRounds, n int) (points, clients int) {
	return rounds / every(trialRounds), min(n, autoClients)
}

// every is how many rounds lie between the measurements of a trial.
func every(trialRounds int) int { return max(1, (trialRounds+autoPoints-1)/autoPoints) }

// setPace decides when the global model is measured on the way, and on which clients.
func (m *Meter) setPace() {
	c, e := m.Config.Eval, m.engine
	m.seconds, m.newcomers = c.EverySeconds, c.Clients
	m.every, m.clients = c.Every, func(int) []int { return e.EvalSample(c.Clients) }
	if c.EveryClients > 0 {
		m.clients = func(round int) []int { return e.DrawTested(c.EveryClients, round) }
	}
	if c.Every != config.AutoEvery {
		return
	}
	m.newcomers = min(cmp.Or(c.Clients, autoClients), autoClients)
	if most := m.Config.Budget.TrialSeconds; m.Config.Budget.Seconds > 0 && !m.Unscored {
		m.every, m.seconds = 0, float64(most)/autoPoints
		m.clients = func(int) []int { return e.EvalSample(cmp.Or(c.Clients, autoClients)) }
		return
	}
	rounds := m.Config.Budget.TrialRounds
	switch n := m.Config.Budget.TrialUpdates; {
	case m.Unscored:
		rounds = m.Config.Rounds
	case n > 0:
		rounds = (n-1)/m.Config.Time.Updates(m.Config.Cohort) + 1
	}
	m.every = every(rounds)
	forward, train := m.Model.FLOPs()
	afford := AutoShare * m.trainedSamples() * float64(train) / float64(max(1, forward)) // samples measured a round
	if c.EveryClients > 0 {
		m.stretch(e.DrawTested(c.EveryClients, 0), afford)
		return
	}
	draw := e.EvalSample // of validation samples: the test set is of no client
	if m.Data.Test.Len() == 0 || m.personal {
		draw = func(n int) []int { return e.DrawTested(n, 0) }
	}
	drawn, few := draw(min(cmp.Or(c.Clients, autoClients), autoClients)), fewClients
	if m.personal {
		few = fewPersonal
	}
	if n, total := len(drawn), m.measuredSamples(drawn); n > few && float64(total) > afford*float64(m.every) {
		n = max(few, int(float64(n)*afford*float64(m.every)/float64(total)))
		drawn = draw(n)
	}
	m.clients = func(int) []int { return drawn }
	m.stretch(drawn, afford)
}

// stretch makes measurements on clients rarer until they are affordable, given how many
// samples may be measured a round. A short training may go without any.
func (m *Meter) stretch(clients []int, afford float64) {
	n := m.measuredSamples(clients)
	if n == 0 || !(afford > 0) {
		m.every = 0
		return
	}
	m.every = int(min(math.MaxInt32, max(float64(m.every), math.Ceil(float64(n)/afford))))
}

// measuredSamples counts what a measurement on clients takes, in samples that a model looks at: a
// step on one takes as long as some of them.
func (m *Meter) measuredSamples(clients []int) int {
	n := m.Data.Test.Len()
	if m.personal {
		n = 0
	}
	forward, train := m.Model.FLOPs()
	for _, i := range clients {
		if m.personal && m.Config.Eval.Adapt {
			n += m.Config.Client.Examples(m.Data.Clients[i].Train.Len()) * int((train+forward-1)/max(1, forward))
		}
		n += m.Data.Clients[i].Test.Len()
		if m.Config.Validates() {
			n += m.Data.Clients[i].Val.Len()
		}
	}
	unseen, all := 0, len(m.Data.Unseen)
	for i := range m.Data.Unseen {
		unseen += m.Data.Unseen[i].Test.Len()
	}
	if m.newcomers > 0 && m.newcomers < all {
		unseen = unseen * m.newcomers / all
	}
	return n + unseen
}

// trainedSamples is how many samples a round trains on, at least: with the fewest epochs
// and steps of the search space, and on the mean client.
func (m *Meter) trainedSamples() float64 {
	c := m.Config
	var samples float64
	for i := range m.Data.Clients {
		samples += float64(m.Data.Clients[i].Train.Len())
	}
	n := samples / float64(len(m.Data.Clients))
	fewest, _ := c.Ends()
	k := fewest.Client
	if m.Unscored {
		k = c.Client.Client
	}
	batch := min(float64(k.Batch), n)
	each := max(batch, n*k.Epochs)
	if k.Steps > 0 {
		each = float64(k.Steps) * batch
	}
	return float64(fewest.Time.Updates(c.Cohort)) * each
}

// As reports whether another meter measures the same in a number of rounds.
func (m *Meter) As(o *Meter, rounds int) bool {
	same := m.every == o.every && m.seconds == o.seconds
	if same && m.every > 0 && m.every <= rounds || m.seconds > 0 {
		same = same && slices.Equal(m.tested(rounds), o.tested(rounds)) &&
			(len(m.Data.Unseen) == 0 || m.newcomers == o.newcomers)
	}
	return same && (m.Config.Eval.RecordEvery == 0 || rounds%m.Config.Eval.RecordEvery == 0)
}

// tested are the clients that are measured after a round and have samples for it.
func (m *Meter) tested(round int) []int {
	return slices.DeleteFunc(slices.Clone(m.clients(round)), func(i int) bool {
		return m.Data.Clients[i].Test.Len() == 0 && (!m.Config.Validates() || m.Data.Clients[i].Val.Len() == 0)
	})
}

// Every is how many rounds lie between two measurements, 0 for none.
func (m *Meter) Every() int { return m.every }

// fleetOf records what became of the clients' work, nil without a fleet.
func fleetOf(r *fl.RoundResult) *record.Fleet {
	if math.IsNaN(r.End) {
		return nil
	}
	f := &record.Fleet{Clock: record.Real(r.End), Failed: r.Failed, Working: r.Working, Oldest: r.Oldest}
	for i := range r.Slots {
		j := jobOf(&r.Slots[i].Job)
		if w := r.Slots[i].Weight; w != 1 {
			j.Weight = record.Real(w)
		}
		f.Jobs = append(f.Jobs, j)
	}
	for i := range r.Lost {
		j := jobOf(&r.Lost[i])
		switch r.Lost[i].Fate {
		case clock.Late:
			f.Late, j.Fate = f.Late+1, "late"
		case clock.Failed:
			f.Vanished, j.Fate = f.Vanished+1, "vanished"
		default:
			f.Stale, j.Fate = f.Stale+1, "stale"
		}
		f.Jobs = append(f.Jobs, j)
	}
	return f
}

// jobOf records a job.
func jobOf(j *clock.Job) record.Job {
	s := func(ns int64) record.Real { return record.Real(float64(ns) / 1e9) }
	return record.Job{Client: j.Client, Start: s(j.Start), Received: s(j.Received), Computed: s(j.Computed), End: s(j.End), Staleness: j.Staleness, Slot: j.Slot, Partial: j.Steps > 0}
}
