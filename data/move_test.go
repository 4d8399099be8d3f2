package data

import (
	"math"
	"slices"
	"testing"
)

// TestMoved compares flips and crops of training images with pictures that are made by indices:
// every read is one of them, all occur about equally often, a black border has what a byte of 0
// is normalized to, and other reads are plain.
func TestMoved(t *testing.T) {
	const h, w, c, n = 8, 16, 2, 400
	pixels, floats := make([]byte, n*h*w*c), make([]float32, n*h*w*c)
	for i := range pixels {
		pixels[i] = byte(1 + i%(h*w*c)%251)
		floats[i] = float32(pixels[i]) / 255
	}
	fed := &Federation{Kind: Image, H: h, W: w, C: c}
	for _, augment := range moves {
		for name, view := range map[string]View{
			"bytes": ImageView(h, w, c, pixels, make([]int32, n)), "floats": VectorView(h*w*c, floats, make([]int32, n)),
		} {
			cfg := Config{Augment: augment, ImageMean: []float64{0.25, 0.5}, ImageStd: []float64{0.5, 0.125}}
			examples, err := cfg.normalize(fed, cfg.move(fed, []Examples{{Train: view}}))
			if err != nil {
				t.Fatal(err)
			}
			all := examples[0].Train
			all.augment = true
			counts, x, label := map[[3]int]int{}, make([]float32, h*w*c), make([]int32, 1)
			picture := func(flip, dy, dx int) []float32 {
				out := make([]float32, 0, len(x))
				for i := range h * w * c {
					row, column, ch := i/c/w+dy, i/c%w+dx, i%c
					v := float32(0)
					if row >= 0 && row < h && column >= 0 && column < w {
						if flip == 1 {
							column = w - 1 - column
						}
						v = floats[(row*w+column)*c+ch]
					}
					out = append(out, (v-float32(cfg.ImageMean[ch]))/float32(cfg.ImageStd[ch]))
				}
				return out
			}
			known := map[[3]int][]float32{}
			for flip := range 2 {
				for dy := -1; dy <= 1; dy++ {
					for dx := -2; dx <= 2; dx++ {
						if (flip == 0 || augment != "crop") && (dy == 0 && dx == 0 || augment != "flip") {
							known[[3]int{flip, dy, dx}] = picture(flip, dy, dx)
						}
					}
				}
			}
			for i := range int32(n) {
				if err := all.Fill([]int32{i}, x, nil, label, &Augment{Key: 7}); err != nil {
					t.Fatal(err)
				}
				found := false
				for move, want := range known {
					if slices.Equal(x, want) {
						counts[move]++
						found = true
					}
				}
				if !found {
					t.Fatalf("%s, %s: image %d is not among the %d", augment, name, i, len(known))
				}
			}
			mean := float64(n) / float64(len(known))
			for move := range known {
				if math.Abs(float64(counts[move])-mean) > 5*math.Sqrt(mean) {
					t.Errorf("%s, %s: %v occurs %d times, want about %.0f", augment, name, move, counts[move], mean)
				}
			}
			if err := all.Fill([]int32{3}, x, nil, label, nil); err != nil || !slices.Equal(x, picture(0, 0, 0)) {
				t.Errorf("%s, %s: without augmentation an image is changed, %v", augment, name, err)
			}
		}
	}
}
