package nn

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
	"github.com/fedfast/fedfast/kernels"
)

// forBF16 runs f in each precision of bf16, on the levels that multiply its numbers.
func forBF16(t *testing.T, f func(t *testing.T, p Precision)) {
	t.Helper()
	for _, p := range []Precision{BF16, BF16AMX} {
		t.Run(p.String(), func(t *testing.T) {
			kernelstest.ForEachLevel(t, func(t *testing.T) {
				f(t, p)
			})
		})
	}
}

// TestBF16Sequences compares loss and gradients of recurrent networks, which have no
// kinks, with those of the float64 reference, up to some roundings of 2^-9; with an
// even and an odd number of samples, since rows are taken in pairs.
func TestBF16Sequences(t *testing.T) {
	for _, c := range lstmCases {
		for _, n := range []int{c.batch, c.batch + 1} {
			t.Run(fmt.Sprintf("%s, batch %d", c.name, n), func(t *testing.T) {
				m := c.model(t)
				w := m.NewParams()
				m.Init(w, 5)
				b := sequences(m, n, c.mask)
				ref := newLSTMReference(c.ref, m.Export(w))
				loss, slopes := ref.loss(b), slopeTable{}
				forBF16(t, func(t *testing.T, p Precision) {
					ws := m.WithPrecision(p).NewWorkspace()
					r := ws.Gradient(w, b, TrainOpts{})
					if got := r.Loss / float64(r.Count); math.Abs(got-loss) > 0.005*loss {
						t.Errorf("mean loss %.9f, want %.9f", got, loss)
					}
					slopes.compare(t, m.Export(ws.Grad()), 40, 0.05, func(p, e int) float64 { return ref.slope(b, p, e) })
					checkPadding(t, m, ws.Grad())
				})
			})
		}
	}
}

// TestBF16Chunks checks that chunks of even numbers of samples do not show in the
// weights, as TestChunks does in float32, and that a model's chunks are such.
func TestBF16Chunks(t *testing.T) {
	for name, m := range map[string]*Model{"plain": dropoutNet(t), "blocks": blockNet(t), "smooth": smoothNet(t)} {
		t.Run(name, func(t *testing.T) {
			forBF16(t, func(t *testing.T, p Precision) {
				m := m.WithPrecision(p)
				if _, ok := m.head(); ok && m.chunk()%2 > 0 {
					t.Errorf("chunks of %d samples", m.chunk())
				}
				b := images(m, 13)
				want := train(m, m.newWorkspace(14), b)
				for _, chunk := range []int{2, 6} {
					sameBits(t, train(m, m.newWorkspace(chunk), b), want, fmt.Sprintf("in chunks of %d", chunk))
				}
			})
		})
	}
}

// TestBF16Images compares with float32, which TestGradient holds to a float64
// reference, at inputs and weights of few bits. The sums of the forward pass are
// exact then in both, so that no kink of a ReLU or a pool comes between them, unless
// a layer divides.
func TestBF16Images(t *testing.T) {
	for _, c := range slices.Concat(imageCases, blockCases, groupedCases) {
		t.Run(c.name, func(t *testing.T) {
			m := c.model(t)
			w, b, s := m.NewParams(), images(m, 5), kernels.NewStream(7, 7)
			ts := m.Export(w)
			for _, tensor := range ts {
				for j := range tensor.Data {
					tensor.Data[j] = float32(s.IntN(3)-1) / 4
				}
			}
			if err := m.Import(w, ts); err != nil {
				t.Fatal(err)
			}
			for i := range b.X {
				b.X[i] = float32(s.IntN(5) - 2)
			}
			forBF16(t, func(t *testing.T, p Precision) {
				exact, ws := m.NewWorkspace(), m.WithPrecision(p).NewWorkspace()
				want, r := exact.Gradient(w, b, TrainOpts{}), ws.Gradient(w, b, TrainOpts{})
				share := 0.01
				if want.Loss != r.Loss {
					share = 0.15
				}
				if math.Abs(r.Loss-want.Loss) > 0.005*want.Loss {
					t.Errorf("loss %v, in float32 %v", r.Loss, want.Loss)
				}
				gradients := m.Export(exact.Grad())
				slopeTable{}.compare(t, m.Export(ws.Grad()), 1<<20, share, func(p, e int) float64 { return float64(gradients[p].Data[e]) })
				checkPadding(t, m, ws.Grad())
				if got := ws.Evaluate(w, b); got != r {
					t.Errorf("Evaluate gives %+v, Gradient %+v", got, r)
				}
			})
		})
	}
}

// TestBF16Differs makes sure that products are rounded at all.
func TestBF16Differs(t *testing.T) {
	check := func(t *testing.T, m *Model, b *Batch) {
		w := m.NewParams()
		m.Init(w, 3)
		exact, rounded := m.NewWorkspace(), m.WithPrecision(BF16).NewWorkspace()
		exact.Gradient(w, b, TrainOpts{})
		rounded.Gradient(w, b, TrainOpts{})
		for i, g := range m.Export(exact.Grad()) {
			if slices.Equal(g.Data, m.Export(rounded.Grad())[i].Data) {
				t.Errorf("%s: the gradient has the same bits in both precisions", g.Name)
			}
		}
	}
	forEachNet(t, func(t *testing.T, m *Model) { check(t, m, images(m, 8)) })
	for _, c := range groupedCases {
		t.Run(c.name, func(t *testing.T) { m := c.model(t); check(t, m, images(m, 8)) })
	}
	for _, c := range lstmCases {
		t.Run(c.name, func(t *testing.T) { m := c.model(t); check(t, m, sequences(m, 3, c.mask)) })
	}
}

// TestBF16Networks holds for products of bf16 what is held for those of float32.
func TestBF16Networks(t *testing.T) {
	t.Setenv("FEDFAST_CPU", kernels.Current().String()) // the only level to test
	forEachNet(t, func(t *testing.T, m *Model) {
		m = m.WithPrecision(BF16AMX)
		t.Run("step in blocks", func(t *testing.T) { testStep(t, m, rules[0]) })
		t.Run("allocations in blocks", func(t *testing.T) { testAllocations(t, m) })
		m = m.WithPrecision(BF16)
		t.Run("step", func(t *testing.T) { testStep(t, m, rules[0]) })
		t.Run("reuse", func(t *testing.T) { testWorkspaceReuse(t, m) })
		t.Run("masked", func(t *testing.T) { testMasked(t, m) })
		t.Run("allocations", func(t *testing.T) { testAllocations(t, m) })
	})
}

// TestBF16Levels holds that plain Go and assembly train to the same bits.
func TestBF16Levels(t *testing.T) {
	check := func(t *testing.T, m *Model, b *Batch) {
		first := map[Precision][]float32{}
		forBF16(t, func(t *testing.T, p Precision) {
			m := m.WithPrecision(p)
			w := train(m, m.NewWorkspace(), b)
			if first[p] == nil {
				first[p] = w
			}
			sameBits(t, w, first[p], kernels.Current().String())
		})
	}
	n := 5
	if kernelstest.Small() {
		n = 2
	}
	forEachNet(t, func(t *testing.T, m *Model) { check(t, m, images(m, n)) })
	t.Run("winograd", func(t *testing.T) {
		m := winogradNet(t)
		check(t, m, images(m, 2))
	})
	for _, c := range lstmCases {
		m := c.model(t)
		t.Run(c.name, func(t *testing.T) { check(t, m, sequences(m, c.batch, c.mask)) })
	}
}
