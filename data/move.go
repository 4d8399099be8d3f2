package data

import (
	"slices"

	"github.com/fedfast/fedfast/internal/draw"
)

// moves are the augmentations of all images, values of data.augment.
var moves = []string{"flip", "crop", "flip-crop"}

// move returns the examples with images that training reads changed as Augment says.
func (c *Config) move(fed *Federation, examples []Examples) []Examples {
	if !slices.Contains(moves, c.Augment) {
		return examples
	}
	made, all := map[source]source{}, slices.Clone(examples)
	by := func(src source) source {
		m := &moved{source: src, h: fed.H, w: fed.W, c: fed.C, flip: c.Augment != "crop", crop: c.Augment != "flip"}
		return withTargets(m, src)
	}
	for i := range all {
		replace(by, made, []*View{&all[i].Train, &all[i].Test})
	}
	return all
}

// moved mirrors half of the images of another source, and shifts all by up to an eighth of their
// sides, where an augmented read asks for them; zeros come in.
type moved struct {
	source
	h, w, c    int
	flip, crop bool
}

func (s *moved) read(at int32, x []float32, tokens []int32, aug *Augment) int32 {
	label := s.source.read(at, x, tokens, nil)
	if aug == nil {
		return label
	}
	var d draw.Stream
	d.Restart(draw.Key(aug.Key, draw.Jitter, uint64(at)))
	row := s.w * s.c
	if s.flip && d.Uint64()>>63 == 1 {
		for rest := x; len(rest) > 0; rest = rest[row:] {
			mirror(rest[:row], s.c)
		}
	}
	if s.crop {
		s.shift(x, d.IntN(2*(s.h/8)+1)-s.h/8, d.IntN(2*(s.w/8)+1)-s.w/8)
	}
	return label
}

// mirror reverses the pixels of a row, which have c values each.
func mirror(row []float32, c int) {
	slices.Reverse(row)
	for at := 0; at < len(row); at += c {
		slices.Reverse(row[at:][:c])
	}
}

// shift makes the pixel (row, column) of x that which was at (row+dy, column+dx), 0 if none was.
func (s *moved) shift(x []float32, dy, dx int) {
	n := s.w * s.c
	lo, hi := max(0, -dx)*s.c, (s.w-max(0, dx))*s.c
	for i := range s.h {
		if dy < 0 {
			i = s.h - 1 - i
		}
		out := x[i*n:][:n]
		if i+dy < 0 || i+dy >= s.h {
			clear(out)
			continue
		}
		copy(out[lo:hi], x[(i+dy)*n+lo+dx*s.c:])
		clear(out[:lo])
		clear(out[hi:])
	}
}
