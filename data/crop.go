package data

import (
	"math"
	"runtime"

	"github.com/fedfast/fedfast/internal/draw"
)

// cropSide is the side of the images of augmentation "crop24".
const cropSide = 24

// crops gives squares of images, each standardized: the mean over its pixels and
// colours is 0, the standard deviation 1 (one below 1/sqrt(values) counts as that,
// in units of a byte). An augmented read gives a square at a random place,
// mirrored half of the time, any other the one in the middle. (McMahan et al.
// 2017, section 3; the TensorFlow tutorial and TFF's CIFAR-100 baselines, whose
// pipelines this is, without the tutorial's changes of brightness and contrast)
type crops struct {
	of   *images
	side int
}

func (s *crops) size() (floats, tokens int) { return s.side * s.side * s.of.c, 0 }

func (s *crops) label(at int32) int32 { return s.of.labels[at] }

func (s *crops) read(at int32, x []float32, _ []int32, aug *Augment) int32 {
	im := s.of
	flip, dy, dx := false, (im.h-s.side)/2, (im.w-s.side)/2
	if aug != nil {
		var d draw.Stream
		d.Restart(draw.Key(aug.Key, draw.Jitter, uint64(at)))
		flip = d.Uint64()>>63 == 1
		dy, dx = d.IntN(im.h-s.side+1), d.IntN(im.w-s.side+1)
	}
	pixels := im.image(at)
	row := s.side * im.c
	start := func(y int) int { return ((dy+y)*im.w + dx) * im.c }
	var sum, squares int64
	for y := range s.side {
		for _, k := range pixels[start(y):][:row] {
			sum += int64(k)
			squares += int64(k) * int64(k)
		}
	}
	t := standardized(sum, squares, int64(len(x)))
	for y := range s.side {
		in, out := pixels[start(y):][:row], x[y*row:(y+1)*row]
		if !flip {
			for i, k := range in {
				out[i] = t[k]
			}
			continue
		}
		for i := 0; i < row; i += im.c {
			for c := range im.c {
				out[i+c] = t[in[row-im.c-i+c]]
			}
		}
	}
	runtime.KeepAlive(im.held)
	return im.labels[at]
}

// standardized returns the table of n bytes with a sum and a sum of squares.
func standardized(sum, squares, n int64) (t table) {
	mean := float64(sum) / float64(n)
	deviation := math.Sqrt(float64(n*squares-sum*sum)) / float64(n) // the root's argument is exact
	deviation = max(deviation, 1/math.Sqrt(float64(n)))
	for k := range t {
		t[k] = float32((float64(k) - mean) / deviation)
	}
	return t
}
