package fl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// Privacy has rounds release no more of a client than differential privacy at user level
// allows: each client's change is clipped to a norm, all clients have the weight 1, and the
// server adds Gaussian noise to the sum of the changes before it divides by the expected
// number of clients, whatever the number that came (McMahan et al. 2018, arXiv 1710.06963).
// What that costs is for the caller to account for. It holds for the weights alone: the
// measurements of clients in a RoundResult are not private.
type Privacy struct {
	// Mechanism says who adds which noise: CentralNoise, also if empty, LocalNoise, TreeNoise,
	// BandedNoise or SampleNoise.
	Mechanism string
	// Clip is the largest norm of a client's change, with Quantile at first.
	Clip float64
	// With SampleNoise it is the largest norm of a sample's gradient; changes are not clipped.
	// Noise is the standard deviation of the noise on the sum, over the clipping norm; with
	// LocalNoise that of each client on its change, with TreeNoise that of a node of the tree,
	// with SampleNoise that on the sum of a local step's gradients.
	Noise float64
	// Quantile, when above 0, has the clipping norm follow that quantile of the changes'
	// norms (Andrew et al. 2021, arXiv 1905.03871); CountNoise is the standard deviation of
	// the noise on the number of clients below it.
	Quantile, CountNoise float64
	// Bands is how many rounds' noise depends on one another with BandedNoise, at most the
	// clients over the cohort; 0: that, but at most 16.
	Bands int
}

// The values of Privacy.Mechanism.
const (
	// CentralNoise has the server add noise to the sum of a round.
	CentralNoise = "central"
	// LocalNoise has each client add noise to its own clipped change: the server need not be
	// trusted.
	LocalNoise = "local"
	// TreeNoise has the server add noise to the sums of all rounds so far, by a binary tree for
	// each pass over the clients (DP-FTRL), so that the noise of later rounds takes off some of
	// that before. It needs Config.Shuffle.
	TreeNoise = "tree"
	// BandedNoise has the server add noise that takes off some of that of the rounds before, by a
	// banded matrix (banded DP-MF). It needs Config.Shuffle, which then has the clients take turns
	// in one order, so that no one takes part twice within as many rounds as there are bands.
	BandedNoise = "banded"
	// SampleNoise has each client clip the gradient of each of its samples and add noise to
	// the sum in each local step (DP-SGD): it protects a client's samples, not clients.
	SampleNoise = "sample"
)

// clipRate is how fast the clipping norm follows a quantile, the paper's eta_C.
const clipRate = 0.2

// The streams of a round's noise.
const (
	sumNoise uint64 = iota
	countNoise
)

// checkPrivacy returns an error for what cannot be private.
func (c *Config) checkPrivacy() error {
	p := c.Privacy
	if p == nil {
		return nil
	}
	bad := func(name, format string, args ...any) error {
		return &key.Error{Key: name, Problem: fmt.Sprintf(format, args...)}
	}
	switch {
	case !(p.Clip > 0) || !det.Finite(p.Clip):
		return bad("dp.clip", " = %v: must be above 0, such as 0.5", p.Clip)
	case !(p.Noise >= 0) || !det.Finite(p.Noise):
		return bad("dp.noise", " = %v: must be 0 or more", p.Noise)
	case !(p.Quantile >= 0 && p.Quantile < 1) || !(p.CountNoise >= 0):
		return bad("dp.quantile", " = %v: must be 0 for a fixed clipping norm, or below 1", p.Quantile)
	case !slices.Contains(append([]string{""}, mechanisms...), p.Mechanism):
		return bad("dp.mechanism", " = %q: must be one of %s", p.Mechanism, strings.Join(mechanisms, ", "))
	case p.noises(SampleNoise) && !c.Method.Plain:
		return bad("dp.mechanism", " = %q: clients of method %q look at samples not only by plain local SGD; use a method such as \"fedavg\"", p.Mechanism, c.Method.Name)
	case p.Quantile > 0 && !p.noises("", CentralNoise):
		return bad("dp.quantile", " = %v: with dp.mechanism = %q the clipping norm is fixed; set dp.clip", p.Quantile, p.Mechanism)
	case p.noises(TreeNoise) && !c.Shuffle:
		return bad("dp.mechanism", " = %q: a client must not take part twice in a tree; set sampling = \"shuffle\"", p.Mechanism)
	case p.noises(BandedNoise) && !c.Shuffle:
		return bad("dp.mechanism", " = %q: a client must not take part twice within the bands; set sampling = \"shuffle\"", p.Mechanism)
	case p.Bands < 0 || p.Bands > 0 && !p.noises(BandedNoise):
		return bad("dp.bands", " = %d: must be 1 or more, and is for dp.mechanism = %q", p.Bands, BandedNoise)
	case p.noises(BandedNoise) && p.Bands > separation(len(c.Data.Clients), c.Cohort):
		return bad("dp.bands", " = %d: each client takes part in every %d rounds; lower it to that, or lower cohort", p.Bands, separation(len(c.Data.Clients), c.Cohort))
	case c.Replacement:
		return bad("sampling", ": with replacement a client that is drawn twice in a round is not protected by the noise for one; use \"poisson\" or \"without\"")
	case c.Sampler.Kind != "":
		return bad("sampling", " = %q: cohorts that depend on what clients measured are not accounted for; use \"poisson\" or \"without\"", c.Sampler.Kind)
	case c.Fleet != nil:
		return bad("dp", ": rounds on a fleet have cohorts that are not drawn at random alone; leave [fleet] out")
	case c.Method.Gather != nil || c.Method.NewSender != nil:
		return bad("dp", ": clients of method %q send more than the change of their weights, which is neither clipped nor noised; use a method such as \"fedavg\"", c.Method.Name)
	}
	return nil
}

// mechanisms are the values of Privacy.Mechanism.
var mechanisms = []string{CentralNoise, LocalNoise, TreeNoise, BandedNoise, SampleNoise}

// noises reports whether the mechanism is one of some; nil has none.
func (p *Privacy) noises(mechanisms ...string) bool {
	return p != nil && slices.Contains(mechanisms, p.Mechanism)
}

// shrink keeps a client's clipped change within the bound whatever is rounded: a norm is
// the root of sums of 256 squares in float32, see kernels.Dot, whose error is below 2^-16.
const shrink = 1 - 0x1p-16

// clipped clips a client's change of a norm and gives it the weight of all others; draws keys
// the client's draws. The error names a method whose clients send more.
func (t *Trial) clipped(c *contribution, norm float64, draws uint64) error {
	p := t.engine.cfg.Privacy
	if p == nil || p.noises(SampleNoise) {
		return nil
	}
	if c.number != 0 {
		return &key.Error{Key: "dp", Problem: fmt.Sprintf(": clients of method %q send a number besides the change of "+
			"their weights, which is neither clipped nor noised; use a method such as \"fedavg\"", t.engine.cfg.Method.Name)}
	}
	if p.noises(LocalNoise) {
		t.engine.release(c, norm, float64(t.clip[0]), kernels.Key(draws, purposeNoise))
		return nil
	}
	if c.weight > 0 {
		c.weight = 1
	}
	if bound := float64(t.clip[0]) * shrink; norm > bound {
		c.scale = bound / norm
	}
	return nil
}

// privatize adds the noise to the sum of a round, has it divided by the expected number of
// clients, and adapts the clipping norm.
func (t *Trial) privatize(p *part, slots []Slot) error {
	c := &t.engine.cfg
	if c.Privacy == nil || c.Privacy.noises(SampleNoise) {
		return nil
	}
	clip := float64(t.clip[0])
	noise := kernels.Key(c.Seed, uint64(t.number), uint64(t.round), purposeNoise)
	deviation := float64(c.Privacy.Noise * clip)
	draws := []noiseOf{{kernels.Key(noise, sumNoise), deviation}}
	switch c.Privacy.Mechanism {
	case LocalNoise:
		draws = nil
	case BandedNoise:
		draws = nil
		if err := t.addBanded(p.Sum, deviation); err != nil {
			return err
		}
	case TreeNoise:
		draws = t.treeNoise(deviation)
	}
	if err := addNoise(t.engine, p.Sum, draws...); err != nil {
		return err
	}
	p.Weight, p.Number = float64(c.Cohort), 0
	if !c.Privacy.noises(LocalNoise) { // of which the server knows who sends
		p.Taken = c.Cohort
	}
	if c.Privacy.Quantile == 0 {
		return nil
	}
	below := float64(c.Privacy.CountNoise * NewNoise(noise, countNoise).Normal())
	for i := range slots {
		switch {
		case slots[i].Dropped:
		case slots[i].DeltaNorm <= clip:
			below += 0.5
		default:
			below -= 0.5
		}
	}
	share := below/float64(c.Cohort) + 0.5
	clip = float64(clip * det.Exp(-clipRate*(share-c.Privacy.Quantile)))
	t.clip[0] = float32(max(leastClip, min(clip, mostClip)))
	return nil
}

// The clipping norm stays a number whatever the noise.
const leastClip, mostClip = 1e-20, 1e20

// newClip returns what a trial keeps of its clipping norm, nil without Privacy.
func (e *Engine) newClip() []float32 {
	if e.cfg.Privacy == nil {
		return nil
	}
	return []float32{float32(e.cfg.Privacy.Clip)}
}

// kept returns the arrays of the server's side that a snapshot has.
func (t *Trial) kept() [][]float32 {
	state := t.server.State()
	if p := t.engine.cfg.Privacy; p != nil && p.Quantile > 0 {
		state = append(slices.Clip(state), t.clip)
	}
	return state
}

// chose returns what a snapshot has of the choices of clients.
func (t *Trial) chose() [][]float32 {
	if t.chooser == nil {
		return nil
	}
	return t.chooser.State()
}

// Clip returns the norm to which the next round clips the clients' changes, 0 without
// Config.Privacy.
func (t *Trial) Clip() float64 {
	if t.clip == nil {
		return 0
	}
	return float64(t.clip[0])
}

// privateSteps takes the client's local steps by DP-SGD (Abadi et al. 2016, arXiv 1607.00133):
// a step draws each training example with the probability batch/examples, clips each one's
// gradient, adds noise to their sum and divides by the expected number of them. An example
// whose gradient is not finite adds nothing.
func (l *Local) privateSteps(p ClientParams, w []float32, opts nn.TrainOpts, opt *nn.Optimizer) error {
	e, n := l.engine, l.Train.Len()
	privacy := e.cfg.Privacy
	rate := min(1, float64(p.Batch)/float64(n))
	sum, bound := room(&l.worker.gradients, len(w)), privacy.Clip*shrink
	batches, steps := l.Batches(0, p), p.LocalSteps(n)
	for step := range steps {
		opt.LR = float32(p.RateAt(step, steps))
		draws := kernels.NewStream(kernels.Key(l.key, purposeExamples), uint64(l.Steps))
		clear(sum)
		var result nn.Result
		for i := range int32(n) {
			if draws.Float64() >= rate {
				continue
			}
			b, err := batches.Read(l.Train, []int32{i})
			if err != nil {
				return err
			}
			opts.Step = uint32(l.Examples)
			result.Add(l.trainer().Gradient(w, b, opts))
			batches.count([]int32{i})
			grad := l.trainer().Grad()
			e.cfg.Model.Hold(grad, nil)
			switch norm := kernels.Norm(grad); {
			case !det.Finite(norm):
			case norm > bound:
				kernels.Axpy(sum, float32(bound/norm), grad)
			default:
				kernels.Add(sum, sum, grad)
			}
		}
		e.addAll(sum, noiseOf{kernels.Key(l.key, purposeNoise, uint64(l.Steps)), privacy.Noise * privacy.Clip})
		kernels.Scale(sum, float32(1/float64(rate*float64(n))))
		opt.Step(w, sum)
		l.Count(result)
	}
	return nil
}
