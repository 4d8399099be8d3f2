package data

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/data/internal/slab"
)

// pixelRows gathers images of floats with their labels: as bytes while every
// float is a byte's k/255, as floats from the first one on that is none.
type pixelRows struct {
	bytes  []byte
	floats []float32
	labels []int32
	memory *slab.Slab // that has the bytes, if the heap has not
}

// maxReserve bounds the images that are made room for before they are there.
const maxReserve = 4096

// reserve makes room for n images of size floats if p is new. The room serves for
// the test images too, see greyWriter.
func (p *pixelRows) reserve(n int64, size int) {
	if p.labels == nil {
		n := int(min(n, maxReserve))
		p.bytes, p.labels = make([]byte, 0, n*size), make([]int32, 0, n)
	}
}

// add appends an image. Its floats must be numbers in [0, 1].
func (p *pixelRows) add(values []float32, label int32) error {
	exact := p.floats == nil
	start := len(p.bytes)
	for i, v := range values {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("pixel %d is %v, must be in 0 to 1", i, v)
		}
		if exact {
			k := byte(float32(v*255) + 0.5) // the nearest; the table decides
			p.bytes = append(p.bytes, k)
			exact = unitTable[k] == v
		}
	}
	p.labels = append(p.labels, label)
	if exact {
		return nil
	}
	if p.floats == nil {
		p.floats = asFloats(p.bytes[:start])
		p.bytes = nil
	}
	p.floats = append(p.floats, values...)
	return nil
}

// asFloats returns the floats that bytes stand for; it is never nil.
func asFloats(bytes []byte) []float32 {
	values := make([]float32, len(bytes))
	for i, k := range bytes {
		values[i] = unitTable[k]
	}
	return values
}

// greyWriter returns the writer of h x w grey images. It appends the test images to
// the training images if there is room, which saves memory, and leaves them where
// they are if not.
func greyWriter(id string, h, w int, train, test *pixelRows) writer {
	trains := len(train.labels)
	train.labels = append(train.labels, test.labels...)
	labels := train.labels
	var src source
	if train.floats == nil && test.floats == nil {
		all := newImages(h, w, 1, train.bytes, labels)
		all.memory = train.memory
		if cap(train.bytes)-len(train.bytes) >= len(test.bytes) {
			train.bytes = append(train.bytes, test.bytes...)
			all.pixels = train.bytes
		} else {
			all.more, all.moreFrom = test.bytes, int32(trains)
		}
		src = all
	} else {
		src = &vectors{n: h * w, values: append(train.all(), test.all()...), labels: labels}
	}
	return writer{id: id, train: span(src, 0, trains), test: span(src, trains, len(test.labels))}
}

// all returns all images as floats.
func (p *pixelRows) all() []float32 {
	if p.floats != nil {
		return p.floats
	}
	return asFloats(p.bytes)
}

// greyFederation returns the federation and writers of images as FEMNIST's: those
// of training and test by writer, whose map it empties.
func greyFederation(people map[string]*[2]pixelRows, classes int) (*Federation, []writer, error) {
	var writers []writer
	for _, id := range slices.Sorted(maps.Keys(people)) {
		writers = append(writers, greyWriter(id, femnistSide, femnistSide, &people[id][0], &people[id][1]))
		delete(people, id) // its test images are with the training images now
	}
	return &Federation{H: femnistSide, W: femnistSide, C: 1, Classes: classes}, writers, nil
}
