package grey

import (
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
)

// fill returns rows of n images of two pixels of a value, labelled from 0 on.
func fill(t *testing.T, n int, value float32) *Rows {
	t.Helper()
	r := &Rows{}
	for i := range n {
		if err := r.Add([]float32{value, 0}, int32(i)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// TestExamples: pixels that are parts of 255 are kept as bytes, others as floats,
// and test images follow the training images, with room for them or without.
func TestExamples(t *testing.T) {
	roomy := &Rows{}
	roomy.Reserve(4, 2)
	if err := roomy.Add([]float32{0.2, 0}, 0); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		train, test *Rows
		bytes       bool
		want        [2]float32
	}{
		"bytes":           {fill(t, 3, 0.2), fill(t, 2, 1), true, [2]float32{0.2, 1}},
		"bytes with room": {roomy, fill(t, 2, 1), true, [2]float32{0.2, 1}},
		"floats":          {fill(t, 3, 0.3333), fill(t, 2, 1), false, [2]float32{0.3333, 1}},
		"floats to test":  {fill(t, 3, 0.2), fill(t, 2, 0.3333), false, [2]float32{0.2, 0.3333}},
	} {
		if bytes := tt.train.Floats == nil && tt.test.Floats == nil; bytes != tt.bytes {
			t.Errorf("%s: kept as bytes: %v", name, bytes)
		}
		e := Examples("c", 1, 2, tt.train, tt.test)
		if e.Train.Len() < 1 || e.Test.Len() != 2 {
			t.Fatalf("%s: %d and %d examples", name, e.Train.Len(), e.Test.Len())
		}
		for i, v := range []data.View{e.Train, e.Test} {
			x, labels := make([]float32, 2), make([]int32, 1)
			if err := v.Fill([]int32{int32(v.Len() - 1)}, x, nil, labels, nil); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(x, []float32{tt.want[i], 0}) || int(labels[0]) != v.Len()-1 {
				t.Errorf("%s: the last example of part %d is %v with label %d", name, i, x, labels[0])
			}
		}
	}
}

// A float after bytes turns all of them to floats.
func TestAdd(t *testing.T) {
	r := fill(t, 2, 0.2)
	if r.Floats != nil || len(r.Bytes) != 4 {
		t.Errorf("%d bytes, floats %v", len(r.Bytes), r.Floats)
	}
	if err := r.Add([]float32{0.2, 0.3333}, 9); err != nil || !slices.Equal(r.Floats, []float32{
		0.2, 0, 0.2, 0,
		0.2, 0.3333,
	}) || r.Bytes != nil {
		t.Errorf("error %v, floats %v, %d bytes", err, r.Floats, len(r.Bytes))
	}
	if err := r.Add([]float32{0, 1.5}, 0); err == nil || err.Error() != "pixel 1 is 1.5, must be in 0 to 1" {
		t.Errorf("error %v", err)
	}
}
