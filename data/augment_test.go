package data

import (
	"math"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/pixel"
)

// pictures returns n colour images of random bytes of the form of CIFAR-10.
func pictures(n int) *images {
	s := draw.New(11)
	pixels := make([]byte, n*32*32*3)
	for i := range pixels {
		pixels[i] = byte(s.Uint64())
	}
	p := newImages(32, 32, 3, pixels, make([]int32, n))
	p.fedexCIFAR()
	return p
}

func TestAugment(t *testing.T) {
	src := pictures(8)
	train := span(src, 0, 8)
	train.augment = true
	test := span(src, 0, 8)
	fill := func(v View, pos int32, aug *Augment) []float32 {
		x := make([]float32, 32*32*3)
		must(t, v.Fill([]int32{pos}, x, nil, make([]int32, 1), aug))
		return x
	}
	plain := fill(train, 3, nil)
	for i, k := range src.pixels[3*3072 : 4*3072] {
		want := (float64(k)/255 - float64(imageNetMean[i%3])) / float64(imageNetStd[i%3])
		if math.Abs(float64(plain[i])-want) > 1e-6 {
			t.Fatalf("plain value %d is %v, must be %v", i, plain[i], want)
		}
	}
	a := fill(train, 3, &Augment{Key: 5})
	if !slices.Equal(a, fill(train, 3, &Augment{Key: 5})) {
		t.Error("one key gave two images")
	}
	if slices.Equal(a, plain) || slices.Equal(a, fill(train, 3, &Augment{Key: 6})) ||
		slices.Equal(a, fill(train, 4, &Augment{Key: 5})) {
		t.Error("key and sample do not change the image")
	}
	if !slices.Equal(plain, fill(test, 3, &Augment{Key: 5})) {
		t.Error("a test view was augmented")
	}
	// A cut or shuffled view of the same example has the same draws.
	if !slices.Equal(a, fill(train.cut(2, 5), 1, &Augment{Key: 5})) {
		t.Error("the draws depend on the place in the view")
	}
}

// TestAugmentBits holds augmented pixels to bits that every CPU must give.
func TestAugmentBits(t *testing.T) {
	v := span(pictures(4), 0, 4)
	v.augment = true
	x := make([]float32, 4*3072)
	h := uint64(0)
	for key := range uint64(8) {
		must(t, v.Fill([]int32{0, 1, 2, 3}, x, nil, make([]int32, 4), &Augment{Key: key}))
		for _, f := range x {
			h = draw.Key(h, uint64(math.Float32bits(f)))
		}
	}
	if want := uint64(0xf44c6752e520987); h != want {
		t.Errorf("augmented pixels hash to %#x, must be %#x", h, want)
	}
}

func TestShifted(t *testing.T) {
	s := newImages(2, 3, 3, nil, nil)
	pixels := make([]byte, 2*3*3)
	for i := range pixels {
		pixels[i] = byte(10*(i/3) + i%3) // pixel p holds 10p, 10p+1, 10p+2
	}
	for _, tt := range []struct {
		flip   bool
		dy, dx int
		want   [6]int // pixels, -1 black
	}{
		{false, 0, 0, [6]int{0, 1, 2, 3, 4, 5}},
		{true, 0, 0, [6]int{2, 1, 0, 5, 4, 3}},
		{false, 1, 0, [6]int{3, 4, 5, -1, -1, -1}},
		{false, 0, -1, [6]int{-1, 0, 1, -1, 3, 4}},
		{true, -1, 2, [6]int{-1, -1, -1, 0, -1, -1}},
		{false, -4, 4, [6]int{-1, -1, -1, -1, -1, -1}},
	} {
		x := make([]float32, len(pixels))
		for i := range x {
			x[i] = 9 // must be overwritten
		}
		s.shifted(pixels, x, tt.flip, tt.dy, tt.dx)
		for p, from := range tt.want {
			for ch := range 3 {
				want := float32(0)
				if from >= 0 {
					want = pixel.Unit[10*from+ch]
				}
				if x[3*p+ch] != want {
					t.Errorf("%+v: pixel %d, colour %d is %v, must be %v", tt, p, ch, x[3*p+ch], want)
				}
			}
		}
	}
}

// hsvTurned turns the hue in float64 by the usual way over HSV: an oracle.
func hsvTurned(r, g, b, turn float64) [3]float64 {
	v, low := max(r, g, b), min(r, g, b)
	if v == low {
		return [3]float64{r, g, b}
	}
	d := v - low
	var h float64
	switch v {
	case r:
		h = math.Mod((g-b)/d+6, 6)
	case g:
		h = (b-r)/d + 2
	default:
		h = (r-g)/d + 4
	}
	h = math.Mod(h/6+turn+1, 1)
	s := d / v
	i, f := math.Modf(h * 6)
	p, q, u := v*(1-s), v*(1-s*f), v*(1-s*(1-f))
	return [][3]float64{{v, u, p}, {q, v, p}, {p, v, u}, {p, q, v}, {u, p, v}, {v, p, q}}[int(i)%6]
}

func TestTurnHue(t *testing.T) {
	s := draw.New(12)
	for range 100_000 {
		// Few levels, so that colours and ties of all kinds come up.
		r, g, b := float32(s.IntN(6))/5, float32(s.IntN(6))/5, float32(s.IntN(6))/5
		turn := s.Span(-0.1, 0.1)
		r2, g2, b2 := turnHue(r, g, b, float32(6*turn))
		want := hsvTurned(float64(r), float64(g), float64(b), turn)
		for i, got := range []float32{r2, g2, b2} {
			if math.Abs(float64(got)-want[i]) > 1e-5 {
				t.Fatalf("(%v %v %v) turned by %v is (%v %v %v), must be %v", r, g, b, turn, r2, g2, b2, want)
			}
		}
	}
}

// TestJitterOrders replays the draws and does the four changes in float64.
func TestJitterOrders(t *testing.T) {
	src := draw.New(13)
	seen := map[[4]int32]bool{}
	for key := range uint64(200) {
		x := make([]float32, 5*3)
		for i := range x {
			x[i] = float32(src.Float64())
		}
		want := make([]float64, len(x))
		for i := range x {
			want[i] = float64(x[i])
		}
		d := draw.New(key)
		order := [4]int32{0, 1, 2, 3}
		d.Shuffle(order[:])
		seen[order] = true
		f := [4]float64{d.Span(.9, 1.1), d.Span(.9, 1.1), d.Span(.9, 1.1), d.Span(-.6, .6)}
		luma := func(p int) float64 { return .2989*want[3*p] + .587*want[3*p+1] + .114*want[3*p+2] }
		blend := func(i int, other, f float64) { want[i] = max(0, min(1, f*want[i]+(1-f)*other)) }
		for _, change := range order {
			mean := 0.0
			for p := range 5 {
				mean += luma(p) / 5
			}
			for p := range 5 {
				grey := luma(p)
				for i := 3 * p; i < 3*p+3; i++ {
					switch change {
					case 0:
						blend(i, 0, f[0])
					case 1:
						blend(i, mean, f[1])
					case 2:
						blend(i, grey, f[2])
					}
				}
				if change == 3 {
					c := hsvTurned(want[3*p], want[3*p+1], want[3*p+2], f[3]/6)
					copy(want[3*p:], c[:])
				}
			}
		}
		jitterColours(x, draw.New(key))
		for i := range x {
			if math.Abs(float64(x[i])-want[i]) > 1e-5 {
				t.Fatalf("key %d, value %d is %v, must be %v", key, i, x[i], want[i])
			}
		}
	}
	if len(seen) != 24 {
		t.Errorf("%d of 24 orders came up in 200 draws", len(seen))
	}
}
