// Package safetensors writes networks' weights to files in the safetensors format, which
// PyTorch, NumPy and others read by name, and reads them.
package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/fedfast/fedfast/nn"
)

// Write writes the model's tensors in their canonical layout and
// name order in the safetensors format: the length of a JSON header as a
// little-endian uint64, the header, and the tensors' float32 values.
// PyTorch, NumPy and others read it by name, and compute the same with it:
// constants that layers add to parameters, such as an LSTM's forget bias, are
// folded in, which the header's metadata says under "constants".
func Write(w io.Writer, m *nn.Model, weights []float32) error {
	type written struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	header := map[string]any{"__metadata__": map[string]string{"format": "pt", "model": m.Name(), "constants": "folded into the parameters"}}
	at := 0
	for t := range m.FoldedByName(nil) {
		size := 4
		for _, n := range t.Shape {
			size *= n
		}
		header[t.Name] = written{DType: "F32", Shape: t.Shape, Offsets: [2]int{at, at + size}}
		at += size
	}
	text, err := json.Marshal(header) // map keys are sorted
	if err != nil {
		return fmt.Errorf("safetensors header: %w", err)
	}
	for len(text)%8 != 0 {
		text = append(text, ' ')
	}
	if err := binary.Write(w, binary.LittleEndian, uint64(len(text))); err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	const most = 1 << 14 // floats at a time
	for t := range m.FoldedByName(weights) {
		for some := range slices.Chunk(t.Data, most) {
			if err := binary.Write(w, binary.LittleEndian, some); err != nil {
				return err
			}
		}
	}
	return nil
}
