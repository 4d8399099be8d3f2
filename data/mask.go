package data

import "slices"

// Masked returns v without the labels of a mask: at their steps there is none (-1),
// so that a measurement on it is the accuracy that the mask stands for. A view
// with one label an example stays as it is.
func (v View) Masked(m Mask) View {
	_, steps := v.src.(stepSource)
	_, lazy := v.src.(lazySource)
	if steps || lazy {
		v.src = &masked{v.src, m.Labels}
	}
	return v
}

// masked is a source of steps of which some labels are hidden.
type masked struct {
	of   source
	hide []int32
}

// opened returns the source with its examples in memory, or a *ReadError.
func (s *masked) opened() (source, error) {
	l, lazy := s.of.(lazySource)
	if !lazy {
		return s, nil
	}
	of, err := l.open()
	return &masked{of, s.hide}, err
}

func (s *masked) size() (floats, tokens int) { return s.of.size() }

func (s *masked) label(at int32) int32 { return s.shown(s.of.label(at)) }

func (s *masked) read(at int32, x []float32, tokens []int32, aug *Augment) int32 {
	return s.shown(s.of.read(at, x, tokens, aug))
}

func (s *masked) steps(at int32, labels []int32) {
	s.of.(stepSource).steps(at, labels)
	for i, l := range labels {
		labels[i] = s.shown(l)
	}
}

// shown returns a label, -1 if it is hidden.
func (s *masked) shown(label int32) int32 {
	if slices.Contains(s.hide, label) {
		return -1
	}
	return label
}
