package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/memtest"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// tensorFile returns a file of a header and a body of zeros, whose size is in bytes.
func tensorFile(header string, body int) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), make([]byte, body)...)
}

// listed is an entry the header, of a tensor of floats.
func listed(name string, n, from, to int) string {
	return fmt.Sprintf(`%q:{"dtype":"F32","shape":[%d],"data_offsets":[%d,%d]}`, name, n, from, to)
}

func saved(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTensorsCoverTheFile: the tensors of a file must cover its bytes, each once, and
// what is refused takes little.
func TestTensorsCoverTheFile(t *testing.T) {
	var same, many []string
	for i := range 2000 {
		same = append(same, listed(fmt.Sprint("t", i), 25_000, 0, 100_000))
	}
	for i := range maxTensors + 1 {
		many = append(many, listed(fmt.Sprint("t", i), 0, 0, 0))
	}
	join := func(entries ...string) string { return "{" + strings.Join(entries, ",") + "}" }
	for _, tt := range []struct {
		name, want string
		content    []byte
	}{
		{
			"overlap", `tensor "b" lies at 4 to 12, and overlaps the one before, which ends at 8`,
			tensorFile(join(listed("a", 2, 0, 8), listed("b", 2, 4, 12)), 12),
		},
		{
			"hole", `tensor "b" lies at 12 to 16, but no tensor at 8 to 12`,
			tensorFile(join(listed("b", 1, 12, 16), listed("a", 2, 0, 8)), 16),
		},
		{"hole at the start", `tensor "a" lies at 4 to 8, but no tensor at 0 to 4`, tensorFile(join(listed("a", 1, 4, 8)),
			8)},
		{"bytes behind", "it has 74 bytes, but its tensors need 70", tensorFile(join(listed("a", 2, 0, 8)), 12)},
		{"cut", "it has 66 bytes, but its tensors need 70", tensorFile(join(listed("a", 2, 0, 8)), 4)},
		{
			"the same bytes", `tensor "t1" lies at 0 to 100000, and overlaps the one before, which ends at 100000`,
			tensorFile(join(same...), 100_000),
		},
		{"too many", "the header names more than 100000 tensors", tensorFile(join(many...), 0)},
		{"twice", `the header names "a" twice`, tensorFile(join(listed("a", 1, 0, 4), listed("a", 1, 4, 8)), 8)},
		{"backwards", `tensor "a" lies at 8 to 4`, tensorFile(join(listed("a", 1, 8, 4)), 8)},
		{"shape", `tensor "a": its shape [3] needs 12 bytes, and it has 8`, tensorFile(join(listed("a", 3, 0, 8)), 8)},
		{
			"large shape", `tensor "a": its shape is [4611686018427387904 4]`,
			tensorFile(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}}`, 4),
		},
		{
			"integers", `tensor "a": its values are "I16"; they must be F32, F64, F16 or BF16; ` +
				`leave out what is no weight: del state["a"]`,
			tensorFile(`{"a":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}}`, 4),
		},
		{"no tensors", "it has no tensors", tensorFile("{}", 0)},
		{"no object", "the header is not a JSON object of tensors: it must begin with {", tensorFile("[1]", 0)},
		{"long header", "its header has 100000001 bytes, must have at most 100000000", binary.LittleEndian.AppendUint64(nil,
			maxHeader+1)},
		{"longer than the file", "truncated, or not a safetensors file", binary.LittleEndian.AppendUint64(nil, 1<<63)},
		{"empty", "truncated, or not a safetensors file", nil},
	} {
		path := saved(t, tt.content)
		if tt.name == "long header" {
			if err := os.Truncate(path, maxHeader+9); err != nil {
				t.Fatal(err)
			}
		}
		memtest.Bounded(t, len(tt.content), func() {
			if _, err := ReadTensors(path); err == nil || err.Error() != path+": "+tt.want {
				t.Errorf("%s: error %v\nwant %s", tt.name, err, tt.want)
			}
		})
	}
	m, err := models.New("logistic", models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var unknown []string
	for i := range maxTensors {
		unknown = append(unknown, listed(fmt.Sprint("t", i), 1, 4*i, 4*i+4))
	}
	path := saved(t, tensorFile(join(unknown...), 4*maxTensors))
	memtest.Bounded(t, 4*maxTensors, func() {
		if _, err := Read(path, m); err == nil || !strings.HasPrefix(err.Error(), path+": model logistic: tensor ") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("unknown tensors: error %v", err)
		}
	})
}

// TestReadsCountsOfBatches holds that a state of PyTorch is read whose batch normalizations
// count their batches, which only cumulative statistics go by.
func TestReadsCountsOfBatches(t *testing.T) {
	for _, norm := range []nn.BatchNorm{{Momentum: 0.1}, {Cumulative: true}} {
		m, err := nn.NewModel("small", nn.Shape{H: 1, W: 1, C: 1}, 1, nn.Dense{Units: 1}, norm,
			nn.Dense{Units: 1, NoBias: true})
		if err != nil {
			t.Fatal(err)
		}
		entries := []string{
			`"dense1.weight":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}`,
			`"dense2.weight":{"dtype":"F32","shape":[1,1],"data_offsets":[4,8]}`,
		}
		for k, name := range []string{
			"dense1.bias", "batchnorm1.weight", "batchnorm1.bias", "batchnorm1.running_mean",
			"batchnorm1.running_var",
		} {
			entries = append(entries, listed(name, 1, 8+4*k, 12+4*k))
		}
		entries = append(entries, `"batchnorm1.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[28,36]}`)
		content := tensorFile("{"+strings.Join(entries, ",")+"}", 36)
		content[len(content)-8] = 7
		w, err := Read(saved(t, content), m)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range m.Export(w) {
			if x.Name == "batchnorm1.num_batches_tracked" && x.Data[0] != 7 {
				t.Errorf("it counts %v batches, want 7", x.Data)
			}
		}
	}
}

// FuzzReadTensors: any bytes give tensors that are as large as the file, or one line.
func FuzzReadTensors(f *testing.F) {
	m, err := models.New("logistic", models.Options{})
	if err != nil {
		f.Fatal(err)
	}
	var whole bytes.Buffer
	if err := Write(&whole, m, m.NewParams()); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes()[:200])
	f.Add(tensorFile("{"+listed("a", 2, 0, 8)+","+listed("b", 1, 8, 12)+`,"__metadata__":{"model":"x"}}`, 12))
	f.Add(tensorFile("{"+listed("a", 2, 0, 8)+","+listed("b", 2, 4, 12)+"}", 12))
	f.Add(tensorFile(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := saved(t, content)
		memtest.Bounded(t, len(content), func() {
			ts, err := ReadTensors(path)
			if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path)) {
				t.Errorf("error %q", err)
			}
			sum := 0
			for _, one := range ts {
				sum += 4 * len(one.Data)
			}
			if sum >= len(content) && sum > 0 {
				t.Errorf("%d bytes of tensors in %d", sum, len(content))
			}
		})
	})
}

// TestOtherNumbers reads numbers of 16 and 64 bits, whose bits numpy and PyTorch give.
func TestOtherNumbers(t *testing.T) {
	for dtype, bits := range map[string]string{
		"F16":  "\x00\x3c\x00\xc0\x01\x00\xff\x7b\x55\x35\x00\x80",
		"BF16": "\x80\x3f\x00\xc0\x80\x33\xe0\x47\xab\x3e\x00\x80",
	} {
		want := map[string][]float32{
			"F16":  {1, -2, 0x1p-24, 65504, 0.333251953125, 0},
			"BF16": {1, -2, 0x1p-24, 114688, 0.333984375, 0},
		}[dtype]
		head := `{"a":{"dtype":"` + dtype + `","shape":[6],"data_offsets":[0,12]}}`
		got, err := ReadTensors(saved(t, append(tensorFile(head, 0), bits...)))
		if err != nil || !slices.Equal(got[0].Data, want) {
			t.Errorf("%s: %v, %v; want %v", dtype, got, err, want)
		}
	}
	number := binary.LittleEndian.AppendUint64(nil, math.Float64bits(1.0/3))
	file := append(tensorFile(`{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}`, 0), number...)
	if got, err := ReadTensors(saved(t, file)); err != nil || got[0].Data[0] != float32(1.0/3) {
		t.Errorf("F64: %v, %v", got, err)
	}
	for _, bits := range []string{"\x00\x7c", "\x01\xfe"} {
		file := append(tensorFile(`{"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`, 0), bits...)
		if _, err := ReadTensors(saved(t, file)); err == nil {
			t.Errorf("%x is read", bits)
		}
	}
}
