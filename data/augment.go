package data

import (
	"math"
	"runtime"

	"github.com/fedfast/fedfast/internal/draw"
	"github.com/fedfast/fedfast/internal/pixel"
)

// The mean and standard deviation of ImageNet's pixels in [0, 1] (R, G, B), as
// torchvision's pretrained models use them.
var (
	imageNetMean = [3]float32{0.485, 0.456, 0.406}
	imageNetStd  = [3]float32{0.229, 0.224, 0.225}
)

// The strengths of augmentations "fedex-cifar" and "fedex-cifar-train".
const (
	cropPad     = 4   // pixels added on every side before the crop
	jitterRange = 0.1 // brightness, contrast, saturation factors in 1 +- this, hue turned by +- this
)

// fedexCIFAR makes s give normalised pixels, and changed ones when augmented.
// It needs three channels.
func (s *images) fedexCIFAR() {
	s.jitter = true
	for ch := range s.tables {
		for k := range s.tables[ch] {
			v := float64(k)/255 - float64(imageNetMean[ch])
			s.tables[ch][k] = float32(v / float64(imageNetStd[ch]))
		}
	}
}

// augmented writes example at into x after a horizontal flip (half of the
// time), a crop at a random place of the image with a black border of cropPad
// pixels, and colour jitter, normalised. The draws depend on aug.Key and at.
func (s *images) augmented(at int32, pixels []byte, x []float32, aug *Augment) {
	var d draw.Stream
	d.Restart(draw.Key(aug.Key, draw.Jitter, uint64(at)))
	flip := d.Uint64()>>63 == 1
	dy, dx := d.IntN(2*cropPad+1)-cropPad, d.IntN(2*cropPad+1)-cropPad
	s.shifted(pixels, x, flip, dy, dx)
	jitterColours(x, &d)
	for ch := range 3 {
		mean, std := imageNetMean[ch], imageNetStd[ch]
		for i := ch; i < len(x); i += 3 {
			x[i] = (x[i] - mean) / std
		}
	}
}

// shifted writes the pixels in [0, 1], mirrored if flip, such that x's pixel
// (row, column) is (row+dy, column+dx) of the image, black outside of it.
func (s *images) shifted(pixels []byte, x []float32, flip bool, dy, dx int) {
	for row := range s.h {
		from := row + dy
		out := x[row*s.w*3 : (row+1)*s.w*3]
		if from < 0 || from >= s.h {
			clear(out)
			continue
		}
		in := pixels[from*s.w*3 : (from+1)*s.w*3]
		for column := range s.w {
			o := out[column*3 : column*3+3]
			c := column + dx
			if c < 0 || c >= s.w {
				clear(o)
				continue
			}
			if flip {
				c = s.w - 1 - c
			}
			p := in[c*3 : c*3+3]
			o[0], o[1], o[2] = pixel.Unit[p[0]], pixel.Unit[p[1]], pixel.Unit[p[2]]
		}
	}
}

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

// jitterColours changes brightness, contrast, saturation and hue of x, rows of
// R, G, B in [0, 1], in random order as torchvision's ColorJitter does on float
// images: the order is drawn first, then the four strengths.
func jitterColours(x []float32, d *draw.Stream) {
	order := [4]int32{0, 1, 2, 3}
	d.Shuffle(order[:])
	brightness := float32(d.Span(1-jitterRange, 1+jitterRange))
	contrast := float32(d.Span(1-jitterRange, 1+jitterRange))
	saturation := float32(d.Span(1-jitterRange, 1+jitterRange))
	sixths := float32(d.Span(-6*jitterRange, 6*jitterRange)) // of the hue circle
	for _, change := range order {
		switch change {
		case 0:
			for i, v := range x {
				x[i] = unit(v * brightness)
			}
		case 1:
			towards := float32((1 - contrast) * meanGrey(x))
			for i, v := range x {
				x[i] = unit(float32(v*contrast) + towards)
			}
		case 2:
			for rest := x; len(rest) >= 3; rest = rest[3:] {
				p := rest[:3:3]
				r, g, b := p[0], p[1], p[2]
				towards := float32((1 - saturation) * grey(r, g, b))
				p[0] = unit(float32(r*saturation) + towards)
				p[1] = unit(float32(g*saturation) + towards)
				p[2] = unit(float32(b*saturation) + towards)
			}
		case 3:
			for rest := x; len(rest) >= 3; rest = rest[3:] {
				p := rest[:3:3]
				p[0], p[1], p[2] = turnHue(p[0], p[1], p[2], sixths)
			}
		}
	}
}

// unit clamps v, which is no -0, to [0, 1].
func unit(v float32) float32 {
	if v > 1 {
		return 1
	}
	if v < 0 {
		return 0
	}
	return v
}

// grey returns the luma of a colour (ITU-R BT.601, torchvision's digits).
func grey(r, g, b float32) float32 { return float32(0.2989*r) + float32(0.587*g) + float32(0.114*b) }

// meanGrey returns the mean luma of an image.
func meanGrey(x []float32) float32 {
	var sum float64
	for i := 0; i+2 < len(x); i += 3 {
		sum += float64(grey(x[i], x[i+1], x[i+2]))
	}
	return float32(sum / float64(len(x)/3))
}

// turnHue turns the hue of a colour by a number of sixths of the circle, keeping
// HSV saturation and value.
func turnHue(r, g, b, sixths float32) (float32, float32, float32) {
	top, low := max(r, g, b), min(r, g, b)
	chroma := top - low
	if chroma == 0 {
		return r, g, b
	}
	var h float32 // in sixths, red at 0
	switch top {
	case r:
		h = (g - b) / chroma
	case g:
		h = 2 + (b-r)/chroma
	default:
		h = 4 + (r-g)/chroma
	}
	h += sixths
	if h < 0 {
		h += 6
	}
	if h >= 6 {
		h -= 6
	}
	sector := int(h)
	part := h - float32(sector)
	up, down := low+float32(chroma*part), top-float32(chroma*part)
	switch sector {
	case 0:
		return top, up, low
	case 1:
		return down, top, low
	case 2:
		return low, top, up
	case 3:
		return low, down, top
	case 4:
		return up, low, top
	default:
		return top, low, down
	}
}
