package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/nn"
)

// Bounds of a header: its bytes, as in the format's own library, and the number of
// tensors that it names, far more than a network has.
const (
	maxHeader  = 100_000_000
	maxTensors = 100_000
)

// Check returns an error unless a file is a whole one of the format: a
// header whose tensors cover the bytes after it, without a hole and without an overlap.
func Check(path string) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	return f.in.Close()
}

// Read reads a model's weights, in its packed layout, from a file of
// Write, or of another program with tensors of the same names and
// shapes. The error is of one line and names the file.
func Read(path string, m *nn.Model) ([]float32, error) {
	ts, err := ReadTensors(path)
	if err != nil {
		return nil, err
	}
	w := m.NewParams()
	err = m.ImportFolded(w, ts)
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // the first of several says enough
		all := joined.Unwrap()
		if err = all[0]; len(all) > 1 {
			err = fmt.Errorf("%w (the first of %d problems)", err, len(all))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

// ReadTensors reads all tensors of a file, by name, as they are, whatever model they are
// of. The error is of one line and names the file.
func ReadTensors(path string) (ts []nn.Tensor, err error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.in.Close()) }()
	if err := memory.Check(f.body); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	in := io.NewSectionReader(f.in, f.begin, f.body)
	for i := range f.tensors {
		t, err := f.tensors[i].read(in)
		if err != nil {
			return nil, fmt.Errorf("%s: tensor %.80q: %w", path, f.tensors[i].name, err)
		}
		ts = append(ts, t)
	}
	slices.SortFunc(ts, func(a, b nn.Tensor) int { return strings.Compare(a.Name, b.Name) })
	return ts, nil
}

// file is an open one whose header was checked.
type file struct {
	in          *os.File
	begin, body int64   // where the bytes of the tensors begin, and how many there are
	tensors     []entry // in the order of their bytes
}

// entry is an entry of the header.
type entry struct {
	name    string
	DType   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// open opens a file and checks its header. The error is of one line and
// names the file.
func open(path string) (*file, error) {
	info, err := os.Stat(path) // first: opening a pipe waits for who writes
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	f := &file{in: in}
	if err := f.read(info.Size()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), in.Close())
	}
	return f, nil
}

func (f *file) read(size int64) error {
	const lead = 8
	var length [lead]byte
	_, err := f.in.ReadAt(length[:], 0)
	n := binary.LittleEndian.Uint64(length[:])
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return cause(err)
	case err != nil, n > uint64(size-lead):
		return errors.New("truncated, or not a safetensors file")
	case n > maxHeader:
		return fmt.Errorf("its header has %d bytes, must have at most %d", n, maxHeader)
	}
	if err := memory.Check(8 * int64(n)); err != nil {
		return fmt.Errorf("its header of %d bytes %w", n, err)
	}
	text := make([]byte, n)
	if _, err := f.in.ReadAt(text, lead); err != nil {
		return cause(err)
	}
	f.begin, f.body = lead+int64(n), size-lead-int64(n)
	if err := f.header(text); err != nil {
		return err
	}
	return f.cover(size)
}

// cause returns what the system says without the path.
func cause(err error) error {
	if named, ok := errors.AsType[*os.PathError](err); ok {
		return named.Err
	}
	return err
}

// header reads the entries of the header, one after the other.
func (f *file) header(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	no := func(err error) error { return fmt.Errorf("the header is not a JSON object of tensors: %w", err) }
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return no(errors.New("it must begin with {"))
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return no(err)
		}
		name, _ := t.(string) // a member's name is a text
		if seen[name] {
			return fmt.Errorf("the header names %.80q twice", name)
		}
		seen[name] = true
		if name == "__metadata__" {
			var meta map[string]string
			if err := d.Decode(&meta); err != nil {
				return no(err)
			}
			continue
		}
		if len(f.tensors) == maxTensors {
			return fmt.Errorf("the header names more than %d tensors", maxTensors)
		}
		one := entry{name: name}
		if err := d.Decode(&one); err != nil {
			return fmt.Errorf("tensor %.80q: %w", name, err)
		}
		f.tensors = append(f.tensors, one)
	}
	if _, err := d.Token(); err != nil {
		return no(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return no(errors.New("more text follows it"))
	}
	return nil
}

// cover puts the tensors in the order of their bytes and returns an error unless they
// cover all there are, each once, as the format demands.
func (f *file) cover(size int64) error {
	if len(f.tensors) == 0 {
		return errors.New("it has no tensors")
	}
	slices.SortStableFunc(f.tensors, func(a, b entry) int {
		if a.Offsets == b.Offsets {
			return strings.Compare(a.name, b.name)
		}
		return slices.Compare(a.Offsets[:], b.Offsets[:])
	})
	at := int64(0)
	for i := range f.tensors {
		t := &f.tensors[i]
		from, to := t.Offsets[0], t.Offsets[1]
		switch {
		case from < 0 || to < from:
			return fmt.Errorf("tensor %.80q lies at %d to %d", t.name, from, to)
		case from < at:
			return fmt.Errorf("tensor %.80q lies at %d to %d, and overlaps the one before, which ends at %d", t.name, from, to, at)
		case from > at:
			return fmt.Errorf("tensor %.80q lies at %d to %d, but no tensor at %d to %d", t.name, from, to, at, from)
		}
		at = to
	}
	if at != f.body {
		return fmt.Errorf("it has %d bytes, but its tensors need %d", size, f.begin+at)
	}
	return nil
}

// numbers are the types of values that are read as float32, with their sizes.
var numbers = map[string]struct {
	bytes int64
	of    func(b []byte) float32
}{
	"F32": {4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }},
	"F64": {8, func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }},
	"F16": {2, func(b []byte) float32 { return half(binary.LittleEndian.Uint16(b)) }},
	"BF16": {2, func(b []byte) float32 {
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
	}},
}

// half returns the value of an IEEE 754 number of 16 bits: 1 sign, 5 of exponent, 10 of fraction.
func half(bits uint16) float32 {
	fraction, exponent := float64(bits&0x3ff), int(bits>>10&0x1f)
	x := math.Ldexp(fraction, -24)
	if exponent == 31 {
		x = math.Inf(1) // or no number, which is as wrong
	} else if exponent > 0 {
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	return float32(math.Copysign(x, 0.5-float64(bits>>15)))
}

// read reads a tensor from the bytes after the header.
func (t *entry) read(in io.ReaderAt) (nn.Tensor, error) {
	if t.DType == "I64" && len(t.Shape) == 0 && t.Offsets[1]-t.Offsets[0] == 8 && strings.HasSuffix(t.name, "num_batches_tracked") {
		var raw [8]byte
		if _, err := in.ReadAt(raw[:], t.Offsets[0]); err != nil {
			return nn.Tensor{}, cause(err)
		}
		return nn.Tensor{Name: t.name, Shape: []int{}, Data: []float32{float32(int64(binary.LittleEndian.Uint64(raw[:])))}}, nil
	}
	number, ok := numbers[t.DType]
	if !ok {
		return nn.Tensor{}, fmt.Errorf("its values are %.20q; they must be F32, F64, F16 or BF16; leave out what is no "+
			"weight: del state[%q]", t.DType, t.name)
	}
	count := t.Offsets[1] - t.Offsets[0]
	values := int64(1)
	shape := make([]int, len(t.Shape))
	for i, d := range t.Shape {
		if d < 0 || d > 0 && values > math.MaxInt64/8/d {
			return nn.Tensor{}, fmt.Errorf("its shape is %v", t.Shape)
		}
		values *= d
		shape[i] = int(d)
	}
	if need := number.bytes * values; need != count {
		return nn.Tensor{}, fmt.Errorf("its shape %v needs %d bytes, and it has %d", t.Shape, need, count)
	}
	raw := make([]byte, min(count, 1<<18))
	data := make([]float32, 0, values)
	for at := t.Offsets[0]; at < t.Offsets[1]; {
		part := raw[:min(int64(len(raw)), t.Offsets[1]-at)]
		if _, err := in.ReadAt(part, at); err != nil {
			return nn.Tensor{}, cause(err)
		}
		at += int64(len(part))
		for ; len(part) > 0; part = part[number.bytes:] {
			x := number.of(part)
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return nn.Tensor{}, fmt.Errorf("value %d is %v", len(data), x)
			}
			data = append(data, x)
		}
	}
	return nn.Tensor{Name: t.name, Shape: shape, Data: data}, nil
}
