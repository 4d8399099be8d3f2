// Package grey gathers grey pictures of floats in [0, 1] as bytes where that loses
// nothing.
package grey

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/pixel"
)

// Side is the side of FEMNIST's pictures.
const Side = 28

// Rows gathers images of floats with their labels: as Bytes while every float is a
// byte's k/255, as Floats from the first one on that is not such a number.
type Rows struct {
	Bytes  []byte
	Floats []float32
	Labels []int32
	Held   any // what frees the bytes' memory, see data.PiecesView
}

// maxReserve bounds the images that are made room for before they are there.
const maxReserve = 4096

// Reserve makes room for n images of size floats if p is new. The room serves for
// the test images too, see Examples.
func (p *Rows) Reserve(n int64, size int) {
	if p.Labels == nil {
		n := int(min(n, maxReserve))
		p.Bytes, p.Labels = make([]byte, 0, n*size), make([]int32, 0, n)
	}
}

// Add appends an image. Its floats must be numbers in [0, 1].
func (p *Rows) Add(values []float32, label int32) error {
	exact := p.Floats == nil
	start := len(p.Bytes)
	for i, v := range values {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("pixel %d is %v, must be in 0 to 1", i, v)
		}
		if exact {
			k := byte(float32(v*255) + 0.5) // the nearest; the table decides
			p.Bytes = append(p.Bytes, k)
			exact = pixel.Unit[k] == v
		}
	}
	p.Labels = append(p.Labels, label)
	if exact {
		return nil
	}
	if p.Floats == nil {
		p.Floats = asFloats(p.Bytes[:start])
		p.Bytes = nil
	}
	p.Floats = append(p.Floats, values...)
	return nil
}

// asFloats returns the floats that bytes stand for; it is never nil.
func asFloats(bytes []byte) []float32 {
	values := list.Made(len(bytes), func(i int) float32 { return pixel.Unit[bytes[i]] })
	return values
}

// Examples returns those of a client: h x w grey images. It appends the test images
// to the training images if there is room, which saves memory, and leaves them
// where they are if not.
func Examples(client string, h, w int, train, test *Rows) data.Examples {
	trains := len(train.Labels)
	train.Labels = append(train.Labels, test.Labels...)
	labels := train.Labels
	var all data.View
	switch {
	case train.Floats != nil || test.Floats != nil:
		all = data.VectorView(h*w, append(train.all(), test.all()...), labels)
	case cap(train.Bytes)-len(train.Bytes) >= len(test.Bytes):
		train.Bytes = append(train.Bytes, test.Bytes...)
		all = data.PiecesView(h, w, 1, [2][]byte{train.Bytes}, labels, train.Held)
	default:
		all = data.PiecesView(h, w, 1, [2][]byte{train.Bytes, test.Bytes}, labels, train.Held)
	}
	return data.Examples{Client: client, Train: all.Part(0, trains), Test: all.Part(trains, all.Len())}
}

// all returns all images as floats.
func (p *Rows) all() []float32 {
	if p.Floats != nil {
		return p.Floats
	}
	return asFloats(p.Bytes)
}

// Federation returns the federation and clients of images as FEMNIST's: those of
// training and test by writer, whose map it empties.
func Federation(people map[string]*[2]Rows, classes int) (*data.Federation, []data.Examples, error) {
	var writers []data.Examples
	for _, id := range slices.Sorted(maps.Keys(people)) {
		writers = append(writers, Examples(id, Side, Side, &people[id][0], &people[id][1]))
		delete(people, id) // its test images are with the training images now
	}
	return &data.Federation{H: Side, W: Side, C: 1, Classes: classes}, writers, nil
}
