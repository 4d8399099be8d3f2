package fl

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/fedfast/fedfast/nn"
)

// ReadSafetensors reads a model's weights, in its packed layout, from a file of
// WriteSafetensors, or of another program with tensors of the same names and
// shapes. The error is of one line and names the file.
func ReadSafetensors(path string, m *nn.Model) ([]float32, error) {
	if err := CheckSafetensors(path); err != nil { // it names the file
		return nil, err
	}
	w, err := readSafetensors(path, m)
	if err != nil {
		return nil, named(path, err)
	}
	return w, nil
}

// ReadTensors reads all tensors of a safetensors file, by name, as they are, whatever
// model they are of. The error is of one line and names the file.
func ReadTensors(path string) ([]nn.Tensor, error) {
	if err := CheckSafetensors(path); err != nil { // it names the file
		return nil, err
	}
	ts, _, err := readTensors(path)
	if err != nil {
		return nil, named(path, err)
	}
	return ts, nil
}

// named puts the file before an error that does not name it.
func named(path string, err error) error {
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// readTensors reads a file that was checked, with its metadata.
func readTensors(path string) (ts []nn.Tensor, meta map[string]string, err error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	size := binary.LittleEndian.Uint64(file)
	var header map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+size], &header); err != nil {
		return nil, nil, fmt.Errorf("the header is no JSON object: %w", err)
	}
	_ = json.Unmarshal(header["__metadata__"], &meta) // other programs need not have any
	delete(header, "__metadata__")
	for _, name := range slices.Sorted(maps.Keys(header)) {
		t, err := readTensor(header[name], file[8+size:])
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %.80q: %w", name, err)
		}
		t.Name = name
		ts = append(ts, t)
	}
	return ts, meta, nil
}

func readSafetensors(path string, m *nn.Model) ([]float32, error) {
	ts, meta, err := readTensors(path)
	if err != nil {
		return nil, err
	}
	w := m.NewParams()
	if own := meta["model"] != ""; own && meta[metaConstants] != folded {
		err = m.Import(w, ts) // of a version that did not fold
	} else {
		err = m.ImportFolded(w, ts)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // the first of several says enough
		all := joined.Unwrap()
		if err = all[0]; len(all) > 1 {
			err = fmt.Errorf("%w (and %d problems more)", err, len(all)-1)
		}
	}
	return w, err
}

// readTensor reads a tensor of the header's entry from the bytes behind the header.
func readTensor(entry json.RawMessage, body []byte) (nn.Tensor, error) {
	var e struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(entry, &e); err != nil {
		return nn.Tensor{}, err
	}
	if e.DType != "F32" {
		return nn.Tensor{}, fmt.Errorf("its values are %.20q; they must be F32", e.DType)
	}
	from, to := e.Offsets[0], e.Offsets[1]
	if from < 0 || to < from || to > int64(len(body)) || (to-from)%4 != 0 {
		return nn.Tensor{}, fmt.Errorf("it lies at %d to %d of %d bytes", from, to, len(body))
	}
	t := nn.Tensor{Shape: e.Shape, Data: make([]float32, (to-from)/4)}
	for i := range t.Data {
		x := math.Float32frombits(binary.LittleEndian.Uint32(body[from+4*int64(i):]))
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nn.Tensor{}, fmt.Errorf("value %d is %v", i, x)
		}
		t.Data[i] = x
	}
	return t, nil
}
