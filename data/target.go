package data

import "fmt"

// Target is what is to be predicted of an example.
type Target uint8

// The kinds of targets.
const (
	// OneClass is a class, or one at each token.
	OneClass Target = iota
	// ManyLabels are any number of the labels below Classes.
	ManyLabels
	// Numbers are Classes numbers.
	Numbers
)

// String returns "class", "labels" or "numbers".
func (t Target) String() string {
	switch t {
	case OneClass:
		return "class"
	case ManyLabels:
		return "labels"
	case Numbers:
		return "numbers"
	}
	return "unknown target"
}

// targetSource is a source whose examples have targets that are no class; their
// label is 0.
type targetSource interface {
	source
	// targets writes those of example at, Federation.Classes of them: numbers, or 1
	// for each label and 0 for the others.
	targets(at int32, dst []float32)
	// kind describes what they are, and how many.
	kind() (t Target, n int)
}

// NumbersView returns the examples of v, each with n numbers to predict: values has
// v.Len() rows of n. It keeps the slice, which must not change.
func NumbersView(v View, n int, values []float32) View {
	if len(values) != v.n*n || n < 1 {
		panic("data: NumbersView has not n numbers per sample")
	}
	v.whole()
	v.src = &valued{v.src, n, values}
	return v
}

// LabelsView returns the examples of v, each with any number of n labels: those of
// example i are labels[starts[i]:starts[i+1]]. It keeps the slices, which must not
// change.
func LabelsView(v View, n int, starts, labels []int32) View {
	if len(starts) != v.n+1 || n < 1 || int(starts[v.n]) != len(labels) {
		panic("data: LabelsView has not one list of labels per sample")
	}
	v.whole()
	v.src = &tagged{v.src, n, starts, labels}
	return v
}

// whole panics unless v is all of its source, with one label an example.
func (v View) whole() {
	_, steps := v.src.(stepSource)
	_, lazy := v.src.(lazySource)
	if v.index != nil || v.first != 0 || steps || lazy {
		panic("data: targets are for views as ImageView, VectorView and TokenView return them")
	}
}

// valued are examples with numbers to predict.
type valued struct {
	source
	n      int
	values []float32
}

func (s *valued) label(int32) int32 { return 0 }

func (s *valued) targets(at int32, dst []float32) { copy(dst, s.values[int(at)*s.n:][:s.n]) }

func (s *valued) kind() (Target, int) { return Numbers, s.n }

// tagged are examples with several labels.
type tagged struct {
	source
	n              int
	starts, labels []int32
}

func (s *tagged) label(int32) int32 { return 0 }

func (s *tagged) targets(at int32, dst []float32) {
	clear(dst[:s.n])
	for _, l := range s.of(at) {
		dst[l] = 1
	}
}

func (s *tagged) kind() (Target, int) { return ManyLabels, s.n }

// of returns the labels of an example.
func (s *tagged) of(at int32) []int32 { return s.labels[s.starts[at]:s.starts[at+1]] }

// targeted are examples of one source with the targets of another.
type targeted struct {
	source
	of targetSource
}

func (s *targeted) targets(at int32, dst []float32) { s.of.targets(at, dst) }

func (s *targeted) kind() (Target, int) { return s.of.kind() }

// withTargets returns s with the targets of another source, if that has some.
func withTargets(s, of source) source {
	if t, ok := of.(targetSource); ok {
		return &targeted{s, t}
	}
	return s
}

// FillTargets reads the targets of the examples at positions pos, which are as for
// Fill: targets gets len(pos) rows of Classes numbers. It is for federations whose
// Target is not OneClass. The error is as in Fill.
func (v View) FillTargets(pos []int32, targets []float32) error {
	if len(pos) == 0 {
		return nil
	}
	from, err := opened(v.src)
	if err != nil {
		return err
	}
	src := from.(targetSource)
	_, n := src.kind()
	for i, p := range pos {
		if uint(p) >= uint(v.n) {
			panic("data: FillTargets of a position outside of the view")
		}
		src.targets(v.at(int(p)), targets[i*n:(i+1)*n])
	}
	return nil
}

// countTargets counts the labels of the examples of v, none of numbers.
func (v View) countTargets(src targetSource, counts []int) {
	kind, n := src.kind()
	if kind != ManyLabels {
		return
	}
	targets := make([]float32, n)
	for i := range v.n {
		src.targets(v.at(i), targets)
		for class, x := range targets {
			counts[class] += int(x)
		}
	}
}

// checkTargets returns an error unless v has the targets of the federation.
func (f *Federation) checkTargets(v View) error {
	kind, n := OneClass, f.Classes
	src, ok := v.src.(targetSource)
	if ok {
		kind, n = src.kind()
	}
	if kind != f.Target || n != f.Classes {
		return fmt.Errorf("its samples have %s as targets, %d, the federation %s, %d", kind, n, f.Target, f.Classes)
	}
	if s, ok := src.(*tagged); ok {
		for i := range v.n {
			for _, l := range s.of(v.at(i)) {
				if l < 0 || int(l) >= n {
					return fmt.Errorf("sample %d has label %d, must be in [0, %d)", i, l, n)
				}
			}
		}
	}
	return nil
}
