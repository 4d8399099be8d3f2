package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/nn/models"
)

// TestFilesHoldEveryTensor reads the written bytes back by the format's
// description and compares them with the model's tensors.
func TestFilesHoldEveryTensor(t *testing.T) {
	model, err := models.New("leaf-femnist-cnn", models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	weights := model.NewParams()
	model.Init(weights, 8)
	var buf bytes.Buffer
	if err := Write(&buf, model, weights); err != nil {
		t.Fatal(err)
	}
	file := buf.Bytes()
	n := binary.LittleEndian.Uint64(file)
	if n%8 != 0 {
		t.Errorf("the header has %d bytes, which leaves the values unaligned", n)
	}
	var header map[string]struct {
		DType   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets []int  `json:"data_offsets"`
	}
	if err := json.Unmarshal(file[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	body := file[8+n:]
	total := 0
	for _, want := range model.Export(weights) {
		got, ok := header[want.Name]
		if !ok || got.DType != "F32" {
			t.Fatalf("tensor %s has the entry %+v", want.Name, got)
		}
		elements := 1
		for _, d := range got.Shape {
			elements *= d
		}
		if elements != len(want.Data) || got.Offsets[1]-got.Offsets[0] != 4*elements {
			t.Fatalf("tensor %s: shape %v and offsets %v for %d values", want.Name, got.Shape, got.Offsets, len(want.Data))
		}
		for i, x := range want.Data {
			if y := math.Float32frombits(binary.LittleEndian.Uint32(body[got.Offsets[0]+4*i:])); y != x {
				t.Fatalf("tensor %s, value %d: %v, want %v", want.Name, i, y, x)
			}
		}
		total += elements
	}
	if total != model.NumParams() || len(body) != 4*total {
		t.Errorf("the file holds %d values in %d bytes, the model has %d parameters", total, len(body), model.NumParams())
	}
}

// TestFilesFoldConstants finds the constant forget bias of leaf-char-lstm in
// the file, without which another framework would compute something else.
func TestFilesFoldConstants(t *testing.T) {
	model, err := models.New("leaf-char-lstm", models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := Write(&buf, model, model.NewParams()); err != nil {
		t.Fatal(err)
	}
	file := buf.Bytes()
	n := binary.LittleEndian.Uint64(file)
	var header map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &header); err != nil {
		t.Fatal(err)
	}
	if meta := string(header["__metadata__"]); !strings.Contains(meta, `"constants":"folded into the parameters"`) {
		t.Errorf("metadata %s", meta)
	}
	biases := 0
	for name, text := range header {
		var entry struct {
			Offsets [2]int `json:"data_offsets"`
		}
		if !strings.Contains(name, "bias_ih") {
			continue
		}
		if err := json.Unmarshal(text, &entry); err != nil {
			t.Fatal(err)
		}
		biases++
		body, hidden := file[8+int(n)+entry.Offsets[0]:], (entry.Offsets[1]-entry.Offsets[0])/16
		for i := range 4 * hidden {
			want := float32(0)
			if i/hidden == 1 { // PyTorch's order: input, forget, cell, output
				want = 1
			}
			if x := math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:])); x != want {
				t.Fatalf("%s, value %d of zero weights: %v, want %v", name, i, x, want)
			}
		}
	}
	if biases != 2 {
		t.Errorf("found the biases of %d layers, want 2", biases)
	}
}
