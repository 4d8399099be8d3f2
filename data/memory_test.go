package data_test

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
)

// TestViewsOfMemory reads examples that a caller holds.
func TestViewsOfMemory(t *testing.T) {
	pixels := []byte{0, 51, 102, 153, 204, 255, 255, 0}
	images := data.ImageView(1, 2, 2, pixels, []int32{3, 1})
	x, labels := make([]float32, 4), make([]int32, 1)
	if err := images.Part(1, 2).Fill([]int32{0}, x, nil, labels, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x, []float32{0.8, 1, 1, 0}) || labels[0] != 1 {
		t.Errorf("image %v of class %d", x, labels[0])
	}
	// In two pieces, picked from a part.
	pieces := data.PiecesView(1, 2, 2, [2][]byte{pixels[:4], pixels[4:]}, []int32{3, 1}, nil)
	for _, v := range []data.View{pieces.Pick([]int32{1}), pieces.Part(1, 2).Pick([]int32{0})} {
		if clear(x); v.Len() != 1 || v.Fill([]int32{0}, x, nil, labels, nil) != nil ||
			!slices.Equal(x, []float32{0.8, 1, 1, 0}) || labels[0] != 1 {
			t.Errorf("image of the second piece %v of class %d", x, labels[0])
		}
	}
	if err := data.VectorView(4, []float32{1, 2, 3, 4, 5, 6, 7, 8}, []int32{0, 2}).Fill([]int32{1}, x,
		nil, labels, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(x, []float32{5, 6, 7, 8}) || labels[0] != 2 {
		t.Errorf("vector %v of class %d", x, labels[0])
	}
	text := data.TextView(3, []byte{7, 8, 9, 10, 11})
	tokens := make([]int32, 3)
	if err := text.Fill([]int32{1}, nil, tokens, labels, nil); err != nil {
		t.Fatal(err)
	}
	if text.Len() != 2 || !slices.Equal(tokens, []int32{8, 9, 10}) || labels[0] != 11 {
		t.Errorf("%d windows; the second is %v, then %d", text.Len(), tokens, labels[0])
	}
	if err := data.TokenView(3, []uint16{1, 2, 3, 4, 500, 6}, []int32{7, 8}).Fill([]int32{1}, nil,
		tokens, labels, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tokens, []int32{4, 500, 6}) || labels[0] != 8 {
		t.Errorf("tokens %v of class %d", tokens, labels[0])
	}
	labels = make([]int32, 3)
	if err := data.StepView(3, []byte{1, 2, 3, 4, 5, 6, 0, 0}).Fill([]int32{1}, nil, tokens, labels, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tokens, []int32{5, 6, 0}) || !slices.Equal(labels, []int32{6, -1, -1}) {
		t.Errorf("tokens %v with labels %v", tokens, labels)
	}
	if n := data.TextView(3, nil).Len(); n != 0 {
		t.Errorf("%d windows of an empty text", n)
	}
}

// TestViewsOfMemoryRefuse holds what is a caller's mistake.
func TestViewsOfMemoryRefuse(t *testing.T) {
	for name, f := range map[string]func(){
		"images":  func() { data.ImageView(2, 2, 1, make([]byte, 7), make([]int32, 2)) },
		"vectors": func() { data.VectorView(3, make([]float32, 7), make([]int32, 2)) },
		"steps":   func() { data.StepView(3, make([]byte, 7)) },
		"pieces":  func() { data.PiecesView(2, 2, 1, [2][]byte{make([]byte, 3), make([]byte, 5)}, make([]int32, 2), nil) },
		"colours": func() { data.ColourView(2, make([]byte, 12), make([]int32, 2), "") },
		"tokens":  func() { data.TokenView(3, make([]uint16, 7), make([]int32, 2)) },
		"pick":    func() { data.VectorView(3, make([]float32, 6), make([]int32, 2)).Pick([]int32{2}) },
		"part":    func() { data.VectorView(3, make([]float32, 6), make([]int32, 2)).Part(1, 3) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
