package data

import (
	"math"
	"slices"
	"testing"
)

// cropped returns a crop of an image, mirrored or not, standardized in float64.
func cropped(im *images, at, dy, dx int, flip bool) []float64 {
	var out []float64
	for y := range cropSide {
		for x := range cropSide {
			column := dx + x
			if flip {
				column = dx + cropSide - 1 - x
			}
			p := ((at*im.h+dy+y)*im.w + column) * 3
			for _, k := range im.pixels[p : p+3] {
				out = append(out, float64(k))
			}
		}
	}
	var mean, variance float64
	for _, v := range out {
		mean += v / float64(len(out))
	}
	for _, v := range out {
		variance += (v - mean) * (v - mean) / float64(len(out))
	}
	deviation := max(math.Sqrt(variance), 1/math.Sqrt(float64(len(out))))
	for i := range out {
		out[i] = (out[i] - mean) / deviation
	}
	return out
}

func near(x []float32, want []float64) bool {
	for i := range x {
		if math.Abs(float64(x[i])-want[i]) > 1e-5 {
			return false
		}
	}
	return len(x) == len(want)
}

func TestCrop(t *testing.T) {
	im := pictures(3)
	im.jitter = false
	for i := range 3072 { // the last image is flat: its deviation is 0
		im.pixels[2*3072+i] = 77
	}
	train := span(&crops{im, cropSide}, 0, 3)
	train.augment = true
	fill := func(v View, pos int32, aug *Augment) []float32 {
		x := make([]float32, cropSide*cropSide*3)
		must(t, v.Fill([]int32{pos}, x, nil, make([]int32, 1), aug))
		return x
	}
	middle := cropped(im, 1, 4, 4, false)
	test := train
	test.augment = false
	for name, x := range map[string][]float32{"plain": fill(train, 1, nil), "test": fill(test, 1, &Augment{Key: 3})} {
		if !near(x, middle) {
			t.Errorf("%s: not the middle of the image", name)
		}
	}
	if flat := fill(train, 2, nil); slices.Min(flat) != 0 || slices.Max(flat) != 0 {
		t.Errorf("a flat image gives %v to %v", slices.Min(flat), slices.Max(flat))
	}
	// Every place and both directions come, and nothing else.
	var all [2 * 81][]float64
	for place := range all {
		all[place] = cropped(im, 0, place/9%9, place%9, place >= 81)
	}
	seen := map[int]bool{}
	for key := range uint64(1500) {
		x := fill(train, 0, &Augment{Key: key})
		if key == 7 && !slices.Equal(x, fill(train, 0, &Augment{Key: key})) {
			t.Error("one key gave two images")
		}
		place := slices.IndexFunc(all[:], func(crop []float64) bool { return near(x, crop) })
		if place < 0 {
			t.Fatalf("key %d gives no crop of the image", key)
		}
		seen[place] = true
	}
	if len(seen) != len(all) {
		t.Errorf("%d of %d crops came in 1500 draws", len(seen), len(all))
	}
	x, label := make([]float32, cropSide*cropSide*3), make([]int32, 1)
	aug, pos := &Augment{Key: 1}, []int32{0}
	if n := testing.AllocsPerRun(10, func() { must(t, train.Fill(pos, x, nil, label, aug)) }); n != 0 {
		t.Errorf("Fill allocates %v times", n)
	}
}
