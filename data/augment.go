package data

import (
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
