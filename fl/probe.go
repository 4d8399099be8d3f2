package fl

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// Probe is a measurement of a slot, or of a whole round, by its name in the tuner
// protocol.
type Probe struct {
	Name, Doc string
	// Round says that only a round as a whole has it; else each slot has it, and a
	// round their mean.
	Round bool
	// Cost says what it costs a round that is asked for it, empty for nothing.
	Cost string

	of func(*Slot) float64 // NaN where the client has no examples to measure on
}

// The costs of probes on validation examples, and of those that look at each step.
const (
	evaluation = "an evaluation of each client of the cohort"
	everyStep  = "a pass over the weights a step; no layer defers its steps, which shows in the last bits where one would"
)

var probes = []Probe{
	{Name: "val_error_before", Doc: "error of the broadcast weights on the client's validation samples", Cost: evaluation, of: func(s *Slot) float64 { return s.Before.Error }},
	{Name: "val_error_after", Doc: "error of the client's own model on its validation samples", Cost: evaluation, of: func(s *Slot) float64 { return s.After.Error }},
	{Name: "val_loss_before", Doc: "loss of the broadcast weights on the client's validation samples", Cost: evaluation, of: func(s *Slot) float64 { return s.Before.Loss }},
	{Name: "val_loss_after", Doc: "loss of the client's own model on its validation samples", Cost: evaluation, of: func(s *Slot) float64 { return s.After.Loss }},
	{Name: "train_loss", Doc: "mean loss over the client's local steps", of: func(s *Slot) float64 { return s.TrainLoss }},
	{Name: "examples_train", Doc: "training samples of the client, a fact that tuner.allow must list", of: func(s *Slot) float64 { return float64(s.TrainExamples) }},
	{Name: "examples_val", Doc: "validation samples of the client, a fact that tuner.allow must list", of: func(s *Slot) float64 { return float64(s.ValExamples) }},
	{Name: "client_key", Doc: "number of the client, the same in all rounds, which tuner.allow and a tuner's scalars must list", of: func(s *Slot) float64 { return float64(s.Client) }},
	{Name: "steps", Doc: "local steps that the client took", of: func(s *Slot) float64 { return float64(s.Steps) }},
	{Name: "delta_norm", Doc: "length of the client's change of the weights", of: func(s *Slot) float64 { return s.DeltaNorm }},
	{Name: "seconds_simulated", Doc: "seconds of the client's round on a simulated phone, of a round those of its slowest client", of: func(s *Slot) float64 { return s.Seconds }},
	{Name: "bytes_up", Doc: "bytes that the client sends", of: func(s *Slot) float64 { return float64(s.Up) }},
	{Name: minCosine, Doc: "least cosine, over the local steps, of a gradient with the displacement that its step " +
		"brings about (FATHOM)", Cost: everyStep, of: func(s *Slot) float64 { return s.MinCosine }},
	{Name: minPriorCosine, Doc: "least cosine of a gradient with the displacement before its step (FATHOM's text)", Cost: everyStep, of: func(s *Slot) float64 { return s.MinPriorCosine }},
	{
		Name: signAgreement, Round: true, Cost: "a pass over the weights a client",
		Doc: "mean over the moved parameters of |sum_i p_i sign(w - w_i)|: 1 when clients agree, near 0 when they undo one another",
	},
	{
		Name: smoothedCosine, Round: true, Cost: "a vector of the weights' size",
		Doc: "cosine of the round's change with the smoothed one of the rounds before; {alpha=A} after the name sets the smoothing, A in [0, 1), 0.5 without",
	},
	{
		Name: previousDot, Round: true, Cost: "a vector of the weights' size",
		Doc: "inner product of the round's mean change with that of the round before; 0 in the first round (FedHyper)",
	},
}

// Probes returns all probes, sorted by name.
func Probes() []Probe {
	return slices.SortedFunc(slices.Values(probes), func(a, b Probe) int { return strings.Compare(a.Name, b.Name) })
}

// ofSlot returns the function of a slot's probe, nil for a name that slots do not
// have.
func ofSlot(name string) func(*Slot) float64 {
	for i := range probes {
		if probes[i].Name == name {
			return probes[i].of
		}
	}
	return nil
}

// The probes of a client's steps that cost something, see [Slot].
const (
	minCosine      = "min_cos_grad_displacement"
	minPriorCosine = "min_cos_grad_prior_displacement"
)

// The probes of a whole round.
const (
	// signAgreement is the mean, over the parameters that moved, of
	// |sum_i p_i sign(w - w_i)|: 1 when all clients move each of them to the same
	// side, near 0 when they undo one another.
	signAgreement = "sign_agreement"
	// smoothedCosine is FATHOM's glob_t = cos(s_{t-1}, g_t), with
	// s_t = alpha s_{t-1} + (1 - alpha) g_t and s_0 = 0, so that it is 0 in the
	// first round in which it is asked for. Its option is alpha in [0, 1).
	smoothedCosine = "cos_delta_smoothed"
	// previousDot is FedHyper's hypergradient of the server's step, <D_t, D_{t-1}>.
	previousDot = "dot_delta_previous"
)

const (
	defaultAlpha = 0.5 // of the smoothed cosine
	mostSmoothed = 8   // smoothed cosines of a plan: each keeps a vector of the weights' size
)

// probeNames returns the names of all probes, sorted, without options: those of
// slots, and "cos_delta_smoothed", "dot_delta_previous" and "sign_agreement", which a
// round has as a whole. Options follow a name in braces: "cos_delta_smoothed{alpha=0.5}".
func probeNames() []string { return list.Of(Probes(), func(p Probe) string { return p.Name }) }

// unknownProbe is the error for a name that no probe has.
func unknownProbe(name string) error {
	return fmt.Errorf("unknown probe %q%s; the probes are %s", name, key.DidYouMean(name, key.Names(probeNames()...)), strings.Join(probeNames(), ", "))
}

// CheckProbes returns an error for the first of Probes that is unknown, or whose options
// are wrong.
func (p Plan) CheckProbes() error {
	_, err := parseProbes(p.Probes)
	return err
}

// probeSet says which measurements cost something and are wanted.
type probeSet struct {
	before, after, phi, prior, signs bool
	smoothed                         []smoothedProbe
}

type smoothedProbe struct {
	name  string // as it was asked for
	alpha float64
	dot   bool // the inner product is wanted, in place of the cosine
}

func parseProbes(names []string) (probeSet, error) {
	var p probeSet
	for _, name := range names {
		base, options, has := strings.Cut(name, "{")
		switch {
		case base == smoothedCosine:
			alpha := defaultAlpha
			if has {
				text, ok := strings.CutPrefix(strings.TrimSuffix(options, "}"), "alpha=")
				var err error
				if alpha, err = strconv.ParseFloat(text, 64); err != nil || !ok || !strings.HasSuffix(options, "}") || !(alpha >= 0 && alpha < 1) {
					return p, fmt.Errorf("probe %q: its option must be {alpha=A} with A in [0, 1)", name)
				}
			}
			if !slices.ContainsFunc(p.smoothed, func(s smoothedProbe) bool { return s.name == name }) {
				p.smoothed = append(p.smoothed, smoothedProbe{name: name, alpha: alpha})
			}
			if len(p.smoothed) > mostSmoothed || len(name) > maxText {
				return p, fmt.Errorf("probes: at most %d of %s can be asked for, each with a short name", mostSmoothed, smoothedCosine)
			}
		case has && slices.Contains(probeNames(), base):
			return p, fmt.Errorf("probe %q: %s takes no options", name, base)
		case base == signAgreement:
			p.signs = true
		case base == previousDot:
			if !slices.ContainsFunc(p.smoothed, func(s smoothedProbe) bool { return s.dot }) {
				p.smoothed = append(p.smoothed, smoothedProbe{name: name, dot: true}) // smoothed by 0 it is the last change
			}
		case ofSlot(name) == nil:
			return p, unknownProbe(name)
		}
		p.before = p.before || strings.HasSuffix(name, "_before")
		p.after = p.after || strings.HasSuffix(name, "_after")
		p.phi, p.prior = p.phi || name == minCosine, p.prior || name == minPriorCosine
	}
	return p, nil
}

// Probe returns the measurement of the slot by its name, see Probes; ok is
// false for a name that slots do not have. Values that the engine was not asked
// for are NaN.
func (s *Slot) Probe(name string) (value float64, ok bool) {
	f := ofSlot(name)
	if f == nil {
		return 0, false
	}
	return f(s), true
}

// Probe returns a measurement of the whole round by its name: for one that slots
// have too the mean over the slots weighted by their training examples, but for
// seconds_simulated the longest, since a round waits for its slowest client. ok is
// false for an unknown name and for one that was not asked for.
func (r *RoundResult) Probe(name string) (value float64, ok bool) {
	if v, has := r.aggregates[name]; has {
		return v, true
	}
	f := ofSlot(name)
	if f == nil {
		return 0, false
	}
	var sum, weight float64
	for i := range r.Slots {
		s := &r.Slots[i]
		if name == "seconds_simulated" {
			sum, weight = max(sum, f(s)), 1
			continue
		}
		n := float64(s.TrainExamples)
		if strings.HasPrefix(name, "val_") && s.ValExamples == 0 {
			continue
		}
		sum += float64(f(s) * n)
		weight += n
	}
	return sum / weight, true
}

// direction returns a least cosine; a client that diverged, or none of whose steps
// counts, has no direction: 0.
func direction(phi float64) float64 {
	if !det.Finite(phi) {
		return 0
	}
	return phi
}

// observe takes the measurements of the whole round, before the server's step.
func (t *Trial) observe(r *RoundResult, u *Update, signs []float32, probes probeSet) {
	if probes.signs {
		r.aggregates[signAgreement] = agreement(signs, u)
	}
	for _, p := range probes.smoothed {
		r.aggregates[p.name] = t.smoothed(p, u.Mean)
	}
}

// agreement folds the sums of signs.
func agreement(signs []float32, u *Update) float64 {
	var sum float64
	moved := 0
	for i, x := range signs {
		if x != 0 || u.Mean[i] != 0 {
			sum += math.Abs(float64(x))
			moved++
		}
	}
	if moved == 0 {
		return 0
	}
	return sum / (float64(moved) * u.Weight)
}

// smoothed returns the cosine or the inner product of the round's change with the
// smoothed one of the rounds before, and takes the change into that.
func (t *Trial) smoothed(p smoothedProbe, g []float32) float64 {
	i := slices.IndexFunc(t.smooth, func(s probeState) bool { return s.Name == p.name })
	if i < 0 {
		i = len(t.smooth)
		t.smooth = append(t.smooth, probeState{Name: p.name, Values: make([]float32, len(g))})
	}
	s := t.smooth[i].Values
	var value float64
	if p.dot {
		value = kernels.Dot(s, g)
	} else if norms := kernels.Norm(s) * kernels.Norm(g); norms > 0 {
		value = kernels.Dot(s, g) / norms
	}
	kernels.Scale(s, float32(p.alpha))
	kernels.Axpy(s, float32(1-p.alpha), g)
	return value
}

// Trace receives how a client trains, see Trial.Trace. It changes no result.
type Trace struct {
	// Client is its index in the federation. Of several places in a cohort the first one counts.
	Client int
	// Step is called after each local step of the model that goes to the server, unless the method
	// takes its steps without Local.SGD.
	Step func(TracedStep)
	// Done is called with the norm of what the training changed, and with the weights that the server sent
	// and the client's own after it, which are valid until it returns.
	Done func(change float64, weights ...[]float32)

	slot int
}

// TracedStep is a local step.
type TracedStep struct {
	// Loss is the mean of the batch, in nats, before the step, LR the learning rate.
	Loss float64 `json:"loss"`
	LR   float64 `json:"lr"`
	// Gradient is the Euclidean norm of the gradient of the loss, before clipping, Change that of what
	// the step adds to the weights.
	Gradient float64 `json:"gradient_norm"`
	Change   float64 `json:"change_norm"`
	// Samples are the batch: indices of the client's training samples.
	Samples []int32 `json:"samples"`
}

// Trace has rounds from the next one on tell how a client trains; nil ends that.
func (t *Trial) Trace(tr *Trace) { t.trace = tr }

// step takes a local step and tells of it; nil only takes it.
func (tr *Trace) step(
	l *Local, w []float32, b *Batches, batch *nn.Batch, opts nn.TrainOpts, opt *nn.Optimizer,
) nn.Result {
	if tr == nil {
		return l.trainer().Step(w, batch, opts, opt)
	}
	alone := opts
	alone.Probe, alone.Held = nil, nil
	l.trainer().Gradient(w, batch, alone)
	s := TracedStep{
		LR: float64(opt.LR), Gradient: kernels.Norm(l.trainer().Grad()), Samples: slices.Clone(b.Positions()),
	}
	before := slices.Clone(w)
	r := l.trainer().Step(w, batch, opts, opt)
	s.Loss, s.Change = r.Loss/float64(max(1, r.Count)), delta(w, before)
	tr.Step(s)
	return r
}
