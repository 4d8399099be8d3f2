package fl

import (
	"slices"

	"github.com/fedfast/fedfast/data"
)

// visit keeps a client's training images as its training read them first: with one
// Augment an image is the same in every pass. Crop and jitter of colours take a quarter
// of the time of a step of fedex-cifar-cnn, a copy next to nothing.
type visit struct {
	x      []float32 // by position
	labels []int32
	read   []bool // positions that are there
	begun  bool   // by the client at work
}

// visitBytes bounds the images of a visit; clients with more read them in each pass.
const visitBytes = 8 << 20

// kept returns how many bytes a visit keeps of the images of n examples with the given
// number of floats each, 0 where these are too many.
func kept(n, floats int) int {
	if bytes := 4 * n * floats; bytes <= visitBytes {
		return bytes
	}
	return 0
}

// keepsImages says whether a client's images are kept at all, where they are not too many.
func (c *Config) keepsImages() bool {
	return c.Data.Kind == data.Image && c.Model.TargetsPerExample() == 0
}

// mostKept returns the most bytes of images that a worker keeps of one of the clients.
func (c *Config) mostKept() int {
	most := 0
	if c.keepsImages() {
		for _, client := range slices.Concat(c.Data.Clients, c.Data.Unseen) {
			most = max(most, kept(client.Train.Len(), c.Model.Input().Size()))
		}
	}
	return most
}

// visit returns the memory for the client's images, nil where none are kept: a client
// that passes once over them reads each once.
func (l *Local) visit(p ClientParams) *visit {
	w, n := l.worker, l.Train.Len()
	if p.Examples(n) <= n || kept(n, w.inputs) == 0 || !l.engine.cfg.keepsImages() {
		return nil
	}
	v := &w.visit
	if !v.begun {
		v.begun = true
		v.x, v.labels, v.read = grown(v.x, n*w.inputs), grown(v.labels, n*w.labels), grown(v.read, n)
		clear(v.read)
	}
	return v
}

// fill reads training examples at pos into the worker's batch.
func (v *visit) fill(w *worker, train data.View, pos []int32, aug *data.Augment) error {
	b := &w.batch
	for i, p := range pos {
		x, labels := v.x[int(p)*w.inputs:][:w.inputs], v.labels[int(p)*w.labels:][:w.labels]
		if !v.read[p] {
			if err := train.Fill(pos[i:i+1], x, nil, labels, aug); err != nil {
				return err
			}
			v.read[p] = true
		}
		copy(b.X[i*w.inputs:], x)
		copy(b.Labels[i*w.labels:], labels)
	}
	return nil
}
