package nn

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// Shape is the input of a network: an image (H, W, C), a flat vector (1, 1, C),
// or a sequence of Seq tokens below Vocab.
type Shape struct {
	H, W, C int
	Seq     int
	Vocab   int
}

// Size returns the floats of one raw sample, 0 for token sequences.
func (s Shape) Size() int {
	if s.Seq > 0 {
		return 0
	}
	return s.H * s.W * s.C
}

// String writes the form of a sample: "28 x 28 x 1", or "80 of 90 tokens".
func (s Shape) String() string {
	if s.Seq > 0 {
		return fmt.Sprintf("%d of %d tokens", s.Seq, s.Vocab)
	}
	return fmt.Sprintf("%d x %d x %d", s.H, s.W, s.C)
}

// Flow describes the activations between two layers. For each sample it is an
// image of H x W pixels with C channels (H = W = 1 when flat), or, when Seq > 0,
// a sequence of Seq steps with C channels each (H = W = 1). The rows of
// sequences are time-major: step t of sample i of a chunk of n is row t*n + i.
type Flow struct {
	H, W, C int
	Seq     int
	// Lead is how many learned steps come before those of the network's tokens, below
	// 0 where the steps are in another order.
	Lead int
	// Vocab is set for the network's input tokens only; there is no Act then.
	Vocab int
	// Raw marks the network's input images and vectors, whose channels are not
	// padded to a multiple of 16.
	Raw bool
}

// Ld returns the floats from one pixel or row to the next: C padded to a
// multiple of 16, or C when raw.
func (f Flow) Ld() int {
	if f.Raw {
		return f.C
	}
	return kernels.Pad(f.C)
}

// aligned returns an error unless the steps after the first Lead are the tokens'.
func (f Flow) aligned() error {
	if f.Lead < 0 || f.Lead >= f.Seq {
		return errors.New("mask_padding needs steps in the order of the tokens; put the layer before those that reverse them or make an image of them")
	}
	return nil
}

// Image reports whether the flow has more than one pixel a sample.
func (f Flow) Image() bool { return f.Seq == 0 && f.H*f.W > 1 }

// Rows returns the rows that n samples have: n, or n*Seq for sequences.
func (f Flow) Rows(n int) int { return n * max(1, f.Seq) }

// Border is a number of zero pixels on the left and right of each image row.
// Rows above and below an image are never stored.
type Border struct{ Left, Right int }

// Act is a view of the activations of a chunk, or of their gradients.
type Act struct {
	Data []float32
	// Origin is the index of the first value of sample 0, after its border.
	Origin int
	// Sample, Row and Pixel are the floats from a sample, image row or pixel to
	// the next. The rows of a sequence are Sample apart, see Flow.
	Sample, Row, Pixel int
	// Fold holds the bits of a sample's number that do not matter: samples that
	// are worked on after one another, and not kept, share memory.
	Fold int
	// Border holds the zero pixels that stand around each image row.
	Border Border
}

// At returns the values from sample (or row of a sequence) i, image row y, pixel
// x on. x may reach -Border.Left.
func (a Act) At(i, y, x int) []float32 {
	return a.Data[a.Origin+(i&^a.Fold)*a.Sample+y*a.Row+x*a.Pixel:]
}

// Has reports whether the image rows have at least border b.
func (a Act) Has(b Border) bool { return a.Border.Left >= b.Left && a.Border.Right >= b.Right }

// packed reports whether the rows of a, of a sequence or of vectors, follow one another
// without gaps.
func (f Flow) packed(a Act) bool { return !f.Image() && a.Sample == f.Ld() && a.Fold == 0 }

// follow reports whether the pixels of the images [lo, hi) of a follow one another without
// gaps.
func (f Flow) follow(a Act, lo, hi int) bool {
	if a.Row != f.W*a.Pixel {
		return false
	}
	return hi-lo == 1 || a.Sample == f.H*a.Row && a.apart(lo, hi)
}

// apart reports whether the samples [lo, hi) of a lie Sample after one another.
func (a Act) apart(lo, hi int) bool { return a.Fold == 0 || lo&^a.Fold+hi-lo <= -a.Fold }

// values returns all values of the samples [lo, hi) of a packed Act.
func (f Flow) values(a Act, lo, hi int) []float32 {
	return a.At(f.Rows(lo), 0, 0)[:f.Rows(hi-lo)*f.Ld()]
}
