package fl

import (
	"cmp"
	"fmt"
	"math"
	"runtime"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/internal/limit"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/nn"
)

// The vectors of a model's size that any training has, besides those of its method.
const (
	snapshotVectors = 1 // a copy of the weights that is written
	trialVectors    = 1 // weights; the sums of rounds are counted apart
	workerVectors   = 1 // the client's weights; the gradient is in the workspace
	momentumVectors = 1 // of a worker: the velocity, which is never touched without momentum
	adamVectors     = 1 // of a worker: second moments
	updateVectors   = 3 // of a worker: what its client sends, its places, and what it was before
)

// leastVectors are the vectors of a training with one worker, its sum and its gradient.
const leastVectors = snapshotVectors + trialVectors + 1 + workerVectors + 1

// CheckMemory returns an error for a training that needs more memory than there is,
// before any of it is taken. Examples are in memory already. Of the clients' states it
// counts those at work: the others go to a file where there is no room. Without Data it is
// the least that any training of the Model needs.
func (c *Config) CheckMemory() error {
	if c.Data == nil {
		return checkMemory(c.Model, 1, 1, 0, 4*int64(c.Model.Size())*leastVectors)
	}
	err := checkMemory(c.Model, c.workers(), max(1, c.Trials), c.Kept, whole(c.needed()))
	if err != nil && c.Time.Versions(c.Cohort) > 0 {
		return fmt.Errorf("%w, or lower time.concurrency or time.max_staleness", err)
	}
	if err != nil && c.holds() {
		return fmt.Errorf("%w, or lower cohort: with aggregator.name = %q the server holds the updates of all clients of a round", err, c.Aggregation.Name)
	}
	return err
}

// Memory returns how many bytes a training takes at its peak, besides the examples, with
// evaluations, snapshots and as many of the clients' states as it keeps in memory.
func (c *Config) Memory() int64 {
	need := c.needed()
	if size, keeps := c.stateSize(); keeps {
		states := float64(len(c.Data.Clients)) * float64(max(1, c.Trials)) * 4 * float64(size)
		need += min(states, float64(c.stateRoom()))
	}
	return whole(need)
}

// TrialMemory returns how many bytes the weights of a trial, the versions of them that
// clients at work began from, and its method's server take: what a trial that waits
// between two of its rounds holds.
func (c *Config) TrialMemory() int64 {
	return whole((trialVectors + float64(c.Time.Versions(c.Cohort)) + c.serverVectors()) * 4 * float64(c.Model.Size()))
}

// whole returns bytes as a number that can be added to.
func whole(bytes float64) int64 { return int64(min(bytes, math.MaxInt64/2)) }

// stateSize returns the floats that a client keeps, and whether there are states.
func (c *Config) stateSize() (floats int, keeps bool) {
	if c.Method.StateLen != nil {
		floats = c.Method.StateLen(c)
	}
	return floats + c.memories()*memorySize(c.Model) + c.feedbackLen() + c.keptLen(), c.keeps()
}

// keeps says whether clients keep anything.
func (c *Config) keeps() bool {
	return c.Method.StateLen != nil || c.KeepOptimizer || c.Updates.KeepsErrors() || c.keepsStatistics()
}

// keeper says what has clients keep something.
func (c *Config) keeper() string {
	if c.Method.StateLen != nil {
		return fmt.Sprintf("method %q keeps", c.Method.Name)
	}
	if c.KeepOptimizer {
		return fmt.Sprintf("client.optimizer_state = %q keeps", hyper.Keep)
	}
	if c.keepsStatistics() {
		return fmt.Sprintf("norm.statistics = %q keeps", c.statistics())
	}
	return "update.feedback = true keeps"
}

// stateRoom returns the bytes of memory that clients' states may take: what the
// training itself leaves, at most StateMemory. Where none is left all go to a file.
func (c *Config) stateRoom() int64 {
	most := cmp.Or(c.StateMemory, limit.StateMemory)
	if free := memory.Available(); free < memory.Unknown {
		most = min(most, max(1, (free-whole(c.needed()))/2))
	}
	return most
}

// needed returns the bytes that a training has at its peak, without garbage.
func (c *Config) needed() float64 {
	trials, server, sums := max(1, c.Trials), c.serverVectors(), openSums(c.Time.Updates(c.mostCohort()))
	workers := min(c.workers(), max(trials*c.Cohort, len(c.Data.Clients))) // others touch no memory
	if c.Method.Gather != nil {
		sums *= 2
	}
	each := workerVectors + c.Method.Vectors
	if c.Momentum || c.Adam {
		each += momentumVectors
	}
	if c.Adam && !c.KeepOptimizer {
		each += adamVectors
	}
	if c.Updates.changes() {
		each += updateVectors
	}
	if c.Privacy.noises(SampleNoise) {
		each++ // the sum of the gradients
	}
	early := 0 // results that wait for those of other workers: by chance, most of what may
	if workers > 1 {
		early = min(sparePerWorker*workers, max(0, trials*c.Cohort-1)) * 3 / 4
	}
	vectors := snapshotVectors + server + float64(trials)*(trialVectors+server) +
		float64(trials*c.Time.Versions(c.Cohort)+min(trials, workers)*sums+c.Kept+early+workers*each)
	if c.Privacy != nil || c.Updates.changes() {
		vectors++ // places of the parameters, as large as floats
	}
	if c.Privacy.noises(BandedNoise) {
		vectors += float64(trials * max(1, c.bands()-1))
	}
	if c.holds() {
		vectors += float64(trials * c.Time.Updates(c.mostCohort()))
	}
	state, _ := c.stateSize() // of the client at work, and as it was
	return vectors*4*float64(c.Model.Size()) + float64(workers)*(float64(c.Model.WorkspaceBytes(c.Batch, c.Method.SecondOrder)+int64(c.mostKept()))+2*4*float64(state))
}

// serverVectors returns how many vectors of the model's size the method's server has.
func (c *Config) serverVectors() (n float64) {
	if c.Method.NewServer == nil {
		return 0
	}
	const size = 1024
	for _, a := range c.Method.NewServer(size).State() {
		n += float64(len(a)) / size
	}
	return n
}

func checkMemory(m *nn.Model, workers, trials, kept int, bytes int64) error {
	if err := memory.Check(bytes); err != nil {
		name, n := m.Largest()
		return fmt.Errorf("model %s has %d parameters, %d of them in %s, and with %s %w; %s",
			m.Name(), m.NumParams(), n, name, counts(workers, trials), err, smaller(workers, trials, kept))
	}
	return nil
}

// smaller tells what would take less memory.
func smaller(workers, trials, kept int) string {
	text := "make it smaller"
	if workers > 1 {
		text += ", or take fewer workers"
	}
	if trials > 1 {
		text += ", or fewer trials at a time (tuner.parallel)"
	}
	if kept > trials+1 {
		text += ", or keep fewer models (finalists.snapshots)"
	}
	return text
}

// counts tells what takes memory besides the model.
func counts(workers, trials int) string {
	text := oneline.Count(workers, "worker")
	if trials > 1 {
		text += " and " + oneline.Count(trials, "trial") + " in flight"
	}
	return text
}

// workers returns the number of workers that a training has: more than some for each
// processor do nothing but take memory.
func (c *Config) workers() int {
	processors := runtime.GOMAXPROCS(0)
	if c.Workers == 0 {
		return processors
	}
	return min(c.Workers, max(64, 4*processors))
}
