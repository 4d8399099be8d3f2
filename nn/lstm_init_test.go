package nn

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/kernelstest"
)

// TestKerasLSTMInit checks what Keras documents: a recurrent weight with
// orthonormal columns that are not all of one pattern, an input weight within
// Glorot's bound, a bias of 1 for the forget gates and 0 for the others, and an
// embedding within 0.05.
func TestKerasLSTMInit(t *testing.T) {
	const width, hidden = 5, 21
	m, err := NewModel("test", Shape{Seq: 3, Vocab: 40}, 4,
		Embedding{Dim: width, Init: InitKeras},
		LSTM{Hidden: hidden, OneBias: true, Init: InitKeras},
		Dense{Units: 4, Init: InitKeras})
	if err != nil {
		t.Fatal(err)
	}
	kernelstest.ForEachLevel(t, func(t *testing.T) {
		w := m.NewParams()
		m.Init(w, 4)
		ts := m.Export(w)
		for i, bound := range []float64{0.05, math.Sqrt(6. / (width + 4*hidden))} {
			var most float64
			for _, v := range ts[i].Data {
				most = max(most, math.Abs(float64(v)))
			}
			if most > bound || most < 0.95*bound {
				t.Errorf("%s: largest value %v, want just below %v", ts[i].Name, most, bound)
			}
		}
		u, trace := ts[2].Data, 0.0
		for j := range hidden {
			for k := range j + 1 {
				dot, want := 0.0, 0.0
				if j == k {
					want = 1
				}
				for i := range 4 * hidden {
					dot += float64(u[i*hidden+j]) * float64(u[i*hidden+k])
				}
				if math.Abs(dot-want) > 1e-6 {
					t.Errorf("columns %d and %d have the product %v, want %v", j, k, dot, want)
				}
			}
			trace += float64(u[j*hidden+j])
		}
		if math.Abs(trace) > 3 { // a sum of 21 values of deviation 1/sqrt(84)
			t.Errorf("the diagonal of the first gate sums to %v", trace)
		}
		for i, v := range ts[3].Data {
			want := float32(0)
			if i/hidden == 1 {
				want = 1
			}
			if v != want {
				t.Errorf("bias %d starts at %v, want %v", i, v, want)
			}
		}
	})
}
