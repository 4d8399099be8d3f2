package nn

import (
	"math"
	"slices"
	"testing"
)

// TestFoldedForgetBias gives the folded tensors of an LSTM with a constant forget
// bias to one without, which must then compute the same, and takes them back.
func TestFoldedForgetBias(t *testing.T) {
	for _, oneBias := range []bool{true, false} {
		build := func(forget float32) *Model {
			m, err := NewModel("test", Shape{Seq: 6, Vocab: 11}, 5,
				Embedding{Dim: 4}, LSTM{Hidden: 9, Layers: 2, OneBias: oneBias, ForgetBias: forget}, Dense{Units: 5})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		m, plain := build(1), build(0)
		w, v := m.NewParams(), plain.NewParams()
		m.Init(w, 3)
		loss := func(m *Model, w []float32) float64 {
			return m.NewWorkspace().Evaluate(w, sequences(m, 7, false)).Loss
		}
		if err := plain.Import(v, m.Export(w)); err != nil {
			t.Fatal(err)
		}
		want, unfolded := loss(m, w), loss(plain, v)
		if math.Abs(want-unfolded) < 1e-3 {
			t.Fatalf("the forget bias makes no difference: loss %v", want)
		}
		if err := plain.Import(v, m.ExportFolded(w)); err != nil {
			t.Fatal(err)
		}
		if got := loss(plain, v); math.Abs(got-want) > 1e-5 {
			t.Errorf("one bias %v: loss %v with folded tensors, want %v", oneBias, got, want)
		}
		back := m.NewParams()
		if err := m.ImportFolded(back, m.ExportFolded(w)); err != nil {
			t.Fatal(err)
		}
		for i, x := range w {
			if math.Abs(float64(back[i]-x)) > 1e-7 {
				t.Fatalf("value %d comes back as %v, was %v", i, back[i], x)
			}
		}
		// A model without constants comes back to the bit.
		if err := plain.ImportFolded(v, plain.ExportFolded(w)); err != nil || !slices.Equal(v, w) {
			t.Errorf("without constants the weights change (%v)", err)
		}
	}
}
