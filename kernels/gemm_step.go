package kernels

// TNStep is a step of stochastic gradient descent on the gradient Aᵀ·G of packed
// weights, the same bits as [GemmTN] followed by [SGDStep], but the gradient need
// not go to memory. Grad says how it is computed; its C and Accumulate are not
// used, its Segs must be 0 or 1, and CRows is for the weights. W, V and Anchor of
// Step start at the first of the weights concerned; their panels are CRows*16
// floats apart, and what lies between is left alone. Step's G is not used. No slice
// may overlap another.
type TNStep struct {
	Grad TN
	Step SGD

	// From, if not nil, is laid out like W, and Products gets for every panel, one
	// after the other, the three sums that [Away] has of the panel's weights after
	// the step, its gradient and From. Grad.K is at most MeasuredRows then.
	From, Products []float32

	// Next and NextV start at the weights that are needed next and at their
	// velocity, or at their part of From: both are fetched into a cache meanwhile,
	// rows and columns as many as are updated. nil fetches nothing. They have no
	// part in the result.
	Next, NextV []float32
}

// MeasuredRows is the most rows of weights of a step with Products.
const MeasuredRows = stepFloats / Width

const (
	msgSegs     = "kernels: a step on a gradient of several segments"
	msgProducts = "kernels: a step with Products on more than MeasuredRows rows, or Products that are too short"
)

// GemmTNStep does the step. It panics if a size is negative, N is not a multiple of
// Width or a slice is too short.
//
//go:noinline
func GemmTNStep(t *TNStep) {
	h := *t
	g := &h.Grad
	if g.Segs > 1 {
		panic(msgSegs)
	}
	g.Segs, g.C, g.Accumulate = 1, h.Step.W, false
	if g.CRows == 0 {
		g.CRows = g.K
	}
	g.check()
	if h.From != nil {
		if g.K > MeasuredRows || len(h.Products) < products*g.N/Width {
			panic(msgProducts)
		}
		clear(h.Products[:products*g.N/Width])
	}
	if g.K == 0 || g.N == 0 {
		return
	}
	n := ((g.N/Width-1)*g.CRows + g.K) * Width
	for _, x := range [...][]float32{h.Step.V, h.Step.Anchor, h.From} {
		if x != nil && len(x) < n {
			panic(msgShort)
		}
	}
	if raceEnabled {
		h.race()
	}
	if g.BF16 {
		bf16s.step(noescape(&h))
		return
	}
	gemms.step(noescape(&h))
}

func (t *TNStep) race() {
	g := &t.Grad
	g.race()
	if t.From == nil {
		return
	}
	for p := range g.N / Width {
		raceRead(t.From[p*g.CRows*Width:][:g.K*Width])
	}
}

// stepFloats is the part of a gradient that stepInParts holds at a time: a quarter
// of a first-level cache.
const stepFloats = 2048

// inParts reports whether no tile knows the step.
func (t *TNStep) inParts() bool {
	return t.Grad.M == 0 || t.From != nil && (t.Step.V != nil || t.Step.Anchor != nil) || t.Step.V != nil && t.Step.First
}

// stepInParts is GemmTNStep by GemmTN and SGDStep.
func stepInParts(t *TNStep) {
	var space [stepFloats]float32
	for k := 0; k < t.Grad.K; k += stepFloats / Width {
		g := t.Grad
		g.K = min(stepFloats/Width, t.Grad.K-k)
		g.A = g.A[min(k, len(g.A)):]
		g.C, g.CRows, g.N = noescape(&space)[:g.K*Width], g.K, Width
		for p := range t.Grad.N / Width {
			g.G = t.Grad.G[min(p*Width, len(t.Grad.G)):]
			GemmTN(&g)
			s, at := t.Step, (p*t.Grad.CRows+k)*Width
			s.W, s.G = s.W[at:][:len(g.C)], g.C
			if s.V != nil {
				s.V = s.V[at:][:len(g.C)]
			}
			if s.Anchor != nil {
				s.Anchor = s.Anchor[at:][:len(g.C)]
			}
			SGDStep(&s)
			if t.From != nil {
				sums := t.Products[products*p:]
				sums[0], sums[1], sums[2] = callAway(s.W, s.G, t.From[at:][:len(g.C)])
			}
		}
	}
}

// products is how many sums a panel has.
const products = 3

// measuredPanels is how many panels have their products summed at a time.
const measuredPanels = 32

// panelSums are the products of some panels, lane by lane.
type panelSums struct {
	space [(products*measuredPanels + 1) * Width]float32
	lanes []float32
}

// start sets the lanes of n panels to zero and returns where they are.
func (s *panelSums) start(n int) *float32 {
	if s.lanes == nil {
		s.lanes = aligned(s.space[:])
	}
	clear(s.lanes[:(products*n+7)/8*8*Width])
	return &s.lanes[0]
}

// finish writes the sums of n panels to dst.
func (s *panelSums) finish(dst []float32, n int) {
	var folded [products * measuredPanels]float32
	runFold(&noescape(&folded)[0], &s.lanes[0], (products*n+7)/8)
	copy(dst[:products*n], folded[:])
}

// step is GemmTNStep.
func (t *tiles) step(s *TNStep) {
	g := &s.Grad
	if t.ts == nil || s.inParts() {
		stepInParts(s)
		return
	}
	args := tsArgs{
		lda: 4 * g.Lda, ldg: 4 * g.Ldg, m: g.M, panel: 4 * Width * g.CRows, ahead: distance(s.Step.W, s.Next), aheadV: distance(s.Step.V, s.NextV),
		lr: s.Step.LR, momentum: s.Step.Momentum, decay: s.Step.WeightDecay,
		anchor: distance(s.Step.W, s.Step.Anchor), mu: s.Step.Mu,
	}
	if s.From != nil {
		t.stepMeasured(s, args)
		return
	}
	t.stepPanels(s, args, nil)
}

// stepMeasured is step with products.
func (t *tiles) stepMeasured(s *TNStep, args tsArgs) {
	var m panelSums
	args.aheadV = distance(s.From, s.NextV)
	t.stepPanels(s, args, noescape(&m))
}

// stepPanels does a step over groups of panels; m is for their products, or nil.
func (t *tiles) stepPanels(s *TNStep, args tsArgs, m *panelSums) {
	g := &s.Grad
	if t.stepPacks && g.M*Width*t.wide <= packFloats {
		t.stepPacked(s, args, m)
		return
	}
	all := g.N / Width
	group := max(t.flops/(2*Width*g.M*len(t.ts))&^3, 4)
	if m != nil {
		group = min(group, measuredPanels)
	}
	for p := 0; p < all; p += group {
		args.g, args.panels = &g.G[p*Width], min(group, all-p)
		t.runStep(s, &args, p, m)
	}
}

// stepPacked is stepPanels on a copy of one group of G's panels at a time, so that
// it goes down a panel of the weights before it goes on to the next.
func (t *tiles) stepPacked(s *TNStep, args tsArgs, m *panelSums) {
	var space [packFloats + Width]float32
	packed := aligned(noescape(&space)[:])
	g := &s.Grad
	for p := 0; p < g.N/Width; p += t.wide {
		args.panels = min(t.wide, g.N/Width-p)
		args.g, args.ldg = &packed[0], 4*Width*args.panels
		t.gather[args.panels-1](args.g, &g.G[p*Width], g.M, 4*g.Ldg, args.ldg)
		t.runStep(s, &args, p, m)
	}
}

// runStep runs args over all rows of the weights from panel p on.
func (t *tiles) runStep(s *TNStep, args *tsArgs, p int, m *panelSums) {
	g := &s.Grad
	if m != nil {
		args.sums = m.start(args.panels)
	}
	most := max(t.flops/(2*Width*args.panels*g.M*len(t.ts)), 1)
	for k := 0; k < g.K; {
		n, count := t.tsPlan.next(g.K-k, len(t.ts))
		count = min(count, most)
		at := (p*g.CRows + k) * Width
		args.a, args.w, args.blocks = &g.A[k], &s.Step.W[at], count
		switch {
		case s.Step.V != nil:
			args.v = &s.Step.V[at]
		case s.From != nil:
			args.v = &s.From[at]
		}
		runTS(t.ts[n-1], noescape(args))
		k += n * count
	}
	if m != nil {
		m.finish(s.Products[products*p:], args.panels)
	}
}

// runTS is runNN for TS tiles.
//
//go:noinline
func runTS(f func(*tsArgs), args *tsArgs) { f(args) }
