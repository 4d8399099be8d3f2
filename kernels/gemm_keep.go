package kernels

const (
	keepPanels = 2       // of a tile that keeps pairs
	keepTerms  = 512     // most rows of floats that it rounds, half a first-level cache of pairs
	keepLeast  = 1 << 15 // fewest floats of B for which memory for the pairs pays
)

// keeps reports whether what the first block of rows rounds should be kept for the
// others.
func (t *tiles) keeps(g *NN, tall int) bool {
	first, _ := t.nnPlan.next(g.M, tall)
	return t.keep != nil && first < g.M && t.keep[first-1] != nil && g.K*g.N >= keepLeast
}

// multiplyKept is multiplyRun with floats, which it rounds once: all blocks of rows go
// over the pairs of a run of terms of two panels before the next run. Each later run goes
// on from C.
func (t *tiles) multiplyKept(g *NN, tall int) {
	var space [keepPanels*keepTerms/2*Width + Width]float32
	pairs := aligned(noescape(&space)[:])
	runs := (g.K + keepTerms - 1) / keepTerms
	run := ((g.K+runs-1)/runs + 1) &^ 1
	args := g.args()
	start, end := args.mode&^modeReLU, args.mode&modeReLU
	panel := args.panel
	for p := 0; p < g.N/Width; p += keepPanels {
		args.panels = min(keepPanels, g.N/Width-p)
		if g.Bias != nil {
			args.bias = &g.Bias[p*Width]
		}
		args.mode = start
		for k := 0; k < g.K; k += run {
			n := min(run, g.K-k)
			if k+n == g.K {
				args.mode |= end
			}
			half := (n + 1) / 2
			args.k, args.panel = n, panel
			args.b, args.ahead, args.aheadStep = &g.B[(p*g.BRows+k)*Width], &pairs[0], 4*Width*half
			for i := 0; i < g.M; {
				rows, _ := t.nnPlan.next(g.M-i, tall)
				args.a, args.c, args.blocks = &g.A[i*g.Lda+k/2], &g.C[i*g.Ldc+p*Width], 1
				if i == 0 {
					runNN(t.keep[rows-1], noescape(&args))
					args.b, args.k, args.panel, args.segNext = &pairs[0], half, 4*Width*half, 0
				} else {
					runNN(t.pairs[rows-1], noescape(&args))
				}
				i += rows
			}
			args.mode = modeAccumulate
		}
	}
}
