package data

import (
	"runtime"
	"slices"

	"github.com/fedfast/fedfast/internal/pixel"
)

// table gives the float of every byte value of one channel.
type table [256]float32

// images holds h x w images of one byte a channel, channels last.
type images struct {
	h, w, c int
	pixels  []byte
	// more holds the images from number moreFrom on, if it is not nil.
	more     []byte
	moreFrom int32
	held     any // what frees the pixels' memory, see PiecesView
	labels   []int32
	tables   []table // one a channel
	jitter   bool    // augmentation "fedex-cifar" or "fedex-cifar-train"
}

// newImages returns the source of images whose bytes k stand for k/255.
func newImages(h, w, c int, pixels []byte, labels []int32) *images {
	s := &images{h: h, w: w, c: c, pixels: pixels, labels: labels}
	for range c {
		s.tables = append(s.tables, pixel.Unit)
	}
	return s
}

// image returns the bytes of image at.
func (s *images) image(at int32) []byte {
	pixels, n := s.pixels, s.h*s.w*s.c
	if s.more != nil && at >= s.moreFrom {
		pixels, at = s.more, at-s.moreFrom
	}
	return pixels[int(at)*n:][:n]
}

func (s *images) size() (floats, tokens int) { return s.h * s.w * s.c, 0 }

func (s *images) label(at int32) int32 { return s.labels[at] }

func (s *images) read(at int32, x []float32, _ []int32, aug *Augment) int32 {
	pixels := s.image(at)
	switch {
	case aug != nil && s.jitter:
		s.augmented(at, pixels, x, aug)
	case s.c == 1:
		t := &s.tables[0]
		for i, k := range pixels {
			x[i] = t[k]
		}
	default:
		for ch := range s.tables {
			t := &s.tables[ch]
			for i := ch; i < len(x); i += s.c {
				x[i] = t[pixels[i]]
			}
		}
	}
	runtime.KeepAlive(s.held)
	return s.labels[at]
}

// vectors holds examples of n floats that are no bytes.
type vectors struct {
	n      int
	values []float32
	// more holds the examples from number moreFrom on, if it is not nil.
	more     []float32
	moreFrom int32
	labels   []int32
}

func (s *vectors) size() (floats, tokens int) { return s.n, 0 }

func (s *vectors) label(at int32) int32 { return s.labels[at] }

func (s *vectors) read(at int32, x []float32, _ []int32, _ *Augment) int32 {
	values, i := s.values, at
	if s.more != nil && at >= s.moreFrom {
		values, i = s.more, at-s.moreFrom
	}
	copy(x, values[int(i)*s.n:])
	return s.labels[at]
}

// windows holds a text of token ids; example at is the seq ids from at on, its
// label the id after them. So a text of n ids holds n-seq examples in n bytes.
type windows struct {
	seq  int
	text []byte
}

func (s *windows) size() (floats, tokens int) { return 0, s.seq }

func (s *windows) largest() int { return int(slices.Max(s.text)) }

func (s *windows) label(at int32) int32 { return int32(s.text[int(at)+s.seq]) }

func (s *windows) read(at int32, _ []float32, tokens []int32, _ *Augment) int32 {
	for i, id := range s.text[at : int(at)+s.seq] {
		tokens[i] = int32(id)
	}
	return s.label(at)
}

// tokenRows holds rows of seq+1 token ids: the first seq are an example, and the
// label at each of them is the id after it. Id 0 pads: it is no label.
type tokenRows[T byte | uint16] struct {
	seq  int
	rows []T
}

func (s *tokenRows[T]) row(at int32) []T { return s.rows[int(at)*(s.seq+1):][:s.seq+1] }

func (s *tokenRows[T]) size() (floats, tokens int) { return 0, s.seq }

func (s *tokenRows[T]) largest() int { return int(slices.Max(s.rows)) }

func (s *tokenRows[T]) label(at int32) int32 { return stepLabel(s.row(at)[1]) }

func (s *tokenRows[T]) read(at int32, _ []float32, tokens []int32, _ *Augment) int32 {
	for i, id := range s.row(at)[:s.seq] {
		tokens[i] = int32(id)
	}
	return s.label(at)
}

func (s *tokenRows[T]) steps(at int32, labels []int32) {
	for i, id := range s.row(at)[1:] {
		labels[i] = stepLabel(id)
	}
}

// labelledRows holds rows of seq token ids with a label each.
type labelledRows struct {
	seq    int
	rows   []uint16
	labels []int32
}

func (s *labelledRows) size() (floats, tokens int) { return 0, s.seq }

func (s *labelledRows) label(at int32) int32 { return s.labels[at] }

func (s *labelledRows) read(at int32, _ []float32, tokens []int32, _ *Augment) int32 {
	for i, id := range s.rows[int(at)*s.seq:][:s.seq] {
		tokens[i] = int32(id)
	}
	return s.labels[at]
}

// stepLabel returns the label that an id is.
func stepLabel[T byte | uint16](id T) int32 {
	if id == 0 {
		return -1
	}
	return int32(id)
}
