package data

import (
	"slices"
	"testing"
)

// TestFillAllocates checks that reading examples allocates nothing.
func TestFillAllocates(t *testing.T) {
	augmented := span(pictures(4), 0, 4)
	augmented.augment = true
	text := span(&windows{seq: 80, text: make([]byte, 200)}, 0, 100)
	every := span(&tokenRows[byte]{seq: 80, rows: make([]byte, 4*81)}, 0, 4)
	aug := &Augment{Key: 1}
	pos := []int32{0, 3}
	x, tokens, labels := make([]float32, 2*3072), make([]int32, 2*80), make([]int32, 2*80)
	for name, fill := range map[string]func(){
		"augmented images": func() { must(t, augmented.Fill(pos, x, nil, labels, aug)) },
		"images":           func() { must(t, augmented.Fill(pos, x, nil, labels, nil)) },
		"windows":          func() { must(t, text.Fill(pos, nil, tokens, labels, nil)) },
		"every step":       func() { must(t, every.Fill(pos, nil, tokens, labels, nil)) },
	} {
		if n := testing.AllocsPerRun(20, fill); n > 0 {
			t.Errorf("%s: Fill allocates %v times", name, n)
		}
	}
}

// TestFillEveryStep checks the labels at every token: the next one's id, -1 for
// padding.
func TestFillEveryStep(t *testing.T) {
	v := span(&tokenRows[byte]{seq: 3, rows: []byte{5, 1, 2, 6, 7, 2, 0, 0, 5, 2, 2, 2}}, 0, 3)
	tokens, labels := make([]int32, 6), make([]int32, 6)
	must(t, v.Fill([]int32{1, 0}, nil, tokens, labels, nil))
	if want := []int32{7, 2, 0, 5, 1, 2}; !slices.Equal(tokens, want) {
		t.Errorf("tokens %v, want %v", tokens, want)
	}
	if want := []int32{2, -1, -1, 1, 2, 6}; !slices.Equal(labels, want) {
		t.Errorf("labels %v, want %v", labels, want)
	}
	if got, want := classCounts(t, v, 8), []int{0, 1, 5, 0, 0, 0, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("class counts %v, want %v", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("labels for one step a sample were enough")
		}
	}()
	must(t, v.Fill([]int32{0, 1}, nil, tokens, labels[:2], nil))
}

func BenchmarkFill(b *testing.B) {
	const batch = 32
	pos := make([]int32, batch)
	for i := range pos {
		pos[i] = int32(i)
	}
	augmented := span(pictures(batch), 0, batch)
	augmented.augment = true
	grey := span(newImages(28, 28, 1, make([]byte, batch*784), make([]int32, batch)), 0, batch)
	text := span(&windows{seq: 80, text: make([]byte, 200)}, 0, batch)
	x, tokens, labels := make([]float32, batch*3072), make([]int32, batch*80), make([]int32, batch)
	for _, bench := range []struct {
		name string
		view View
		aug  *Augment
	}{
		{"28x28x1", grey, nil},
		{"32x32x3", augmented, nil},
		{"32x32x3-augmented", augmented, &Augment{Key: 1}},
		{"80-characters", text, nil},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				must(b, bench.view.Fill(pos, x, tokens, labels, bench.aug))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/example")
		})
	}
}
