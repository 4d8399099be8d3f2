package nn

import "github.com/fedfast/fedfast/kernels"

// denseState is a dense layer in one workspace.
type denseState struct {
	b              *boundDense
	w, bias        int // offsets of the parameters
	x, y, dx       Act
	tile, gradTile []float32 // scratch for a tile of transposed weights and its gradient
}

func (s *denseState) Forward(r *Run, x Act, _, _ int) Act {
	s.x = x
	t := s.b.t
	t.Forward(s.y.Data, s.y.Sample, x.At(0, 0, 0), x.Sample, s.b.in.Rows(r.N), r.W[s.w:s.bias], r.W[s.bias:s.bias+t.N], s.b.relu)
	return s.y
}

func (s *denseState) Backward(r *Run, dy Act, _, _ int) Act {
	t, rows, add := s.b.t, s.b.in.Rows(r.N), !r.Starts(0)
	w, gw, gb := r.W[s.w:s.bias], r.G[s.w:s.bias], r.G[s.bias:s.bias+t.N]
	x, g := s.x.At(0, 0, 0), dy.At(0, 0, 0)
	if n := rows * t.N; s.b.relu {
		kernels.ReLUBackward(g[:n], g[:n], s.y.Data[:n])
	}
	t.BackwardBias(gb, g, dy.Sample, rows, add)
	if r.update != nil {
		s.updateTiles(r, x, g, dy.Sample, rows, add)
		return s.dx
	}
	if s.dx.Data != nil {
		t.BackwardInput(s.dx.Data, s.dx.Sample, g, dy.Sample, rows, w, s.tile)
	}
	t.BackwardWeights(gw, x, s.x.Sample, g, dy.Sample, rows, add)
	return s.dx
}

// updateTiles takes the weights tile by tile through all that is left of a
// training step: the input's gradient, the weights' and the update. A tile stays
// in the cache, and its gradient never goes to memory unless earlier chunks did
// begin it there.
func (s *denseState) updateTiles(r *Run, x, g []float32, ldg, m int, add bool) {
	t := s.b.t
	rows, cols := t.Tile()
	for k := 0; k < t.K; k += rows {
		for j := 0; j < t.N; j += cols {
			if s.dx.Data != nil {
				t.InputTile(s.dx.Data, s.dx.Sample, g, ldg, m, r.W[s.w:s.bias], s.tile, k, j)
			}
			n, at := min(rows, t.K-k)*kernels.Width, s.w+j*t.K+k*kernels.Width
			grad, panel := s.gradTile, n
			if add {
				grad, panel = r.G[at:s.bias], t.K*kernels.Width
			}
			t.WeightsTile(grad, panel, x, s.x.Sample, g, ldg, m, k, j, add)
			for p := range min(cols, t.N-j) / kernels.Width {
				r.update.apply(r.W, grad[p*panel:][:n], at+p*t.K*kernels.Width)
			}
		}
	}
	r.update.apply(r.W, r.G[s.bias:s.bias+t.N], s.bias)
}
