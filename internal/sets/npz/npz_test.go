package npz_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/sets/npz"
	"github.com/fedfast/fedfast/internal/test/memtest"
	"github.com/fedfast/fedfast/internal/test/npztest"
)

// read reads an array of a file that may be damaged.
func read(path, name string) (*npz.Array, error) {
	f, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read only
	a, err := f.Read(name)
	if a == nil && err == nil {
		err = fmt.Errorf("%s has no array %s, but %s", path, name, f.Names())
	}
	return a, err
}

func TestRead(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "own.npz")
		npztest.Write(t, path, compressed,
			npztest.Array{Name: "bytes", Shape: []int{2, 1, 3}, Values: []uint8{0, 1, 2, 253, 254, 255}},
			npztest.Array{Name: "floats", Shape: []int{2, 2}, Values: []float32{-1.5, 0, 3e38, 1e-40}},
			npztest.Array{Name: "doubles", Shape: []int{3}, Values: []float64{0.1, -2, 1 << 40}},
			npztest.Array{Name: "ints", Shape: []int{4}, Values: []int64{-3, 0, 7, 1 << 40}},
			npztest.Array{Name: "texts", Shape: []int{3}, Values: []string{"", "Ärger", "b"}},
			npztest.Array{
				Name: "big", Shape: []int{2}, Values: []uint8{1, 2, 0, 5},
				Header: "{'descr': '>u2', 'fortran_order': False, 'shape': (2,), }",
			},
			npztest.Array{Name: "one", Shape: nil, Values: []int32{9}},
		)
		must := func(name string) *npz.Array {
			a, err := read(path, name)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		if b, err := must("bytes").Bytes(); err != nil || !slices.Equal(b, []byte{0, 1, 2, 253, 254, 255}) ||
			!slices.Equal(must("bytes").Shape, []int{2, 1, 3}) {
			t.Errorf("%v, %v", b, err)
		}
		if x, err := must("floats").Floats(); err != nil || !slices.Equal(x, []float32{-1.5, 0, 3e38, 1e-40}) {
			t.Errorf("%v, %v", x, err)
		}
		if x, err := must("doubles").Floats(); err != nil || !slices.Equal(x, []float32{0.1, -2, 1 << 40}) {
			t.Errorf("%v, %v", x, err)
		}
		if n, err := must("big").Ints(0, 600); err != nil || !slices.Equal(n, []int32{258, 5}) {
			t.Errorf("%v, %v", n, err)
		}
		if s, err := must("texts").Texts(); err != nil || !slices.Equal(s, []string{
			"", "Ärger",
			"b",
		}) {
			t.Errorf("%q, %v", s, err)
		}
		if s, err := must("ints").Texts(); err != nil || !slices.Equal(s, []string{
			"-3", "0", "7",
			"1099511627776",
		}) {
			t.Errorf("%q, %v", s, err)
		}
		if n, err := must("one").Ints(9, 9); err != nil || len(n) != 1 || len(must("one").Shape) != 0 {
			t.Errorf("%v, %v", n, err)
		}
		if _, err := must("ints").Ints(-5, 100); err == nil || !strings.HasSuffix(err.Error(),
			"array ints: value [3] is 1099511627776, must be in -5 to 100") {
			t.Errorf("%v", err)
		}
		if _, err := must("texts").Ints(0, 9); err == nil || !strings.Contains(err.Error(),
			"numpy.unique(texts, return_inverse=True)[1]") {
			t.Errorf("%v", err)
		}
		if _, err := must("ints").Bytes(); err == nil || !strings.Contains(err.Error(),
			"values of type int64, must be uint8") {
			t.Errorf("%v", err)
		}
		if _, err := must("texts").Floats(); err == nil || !strings.Contains(err.Error(),
			"values of type <U5, must be float32") {
			t.Errorf("%v", err)
		}
		if _, err := must("floats").Texts(); err == nil {
			t.Error("floats are names")
		}
	}
}

func TestReadErrors(t *testing.T) {
	header := func(descr, order, shape string) string {
		return fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	}
	nan := []float64{0, math.NaN()}
	for name, tt := range map[string]struct {
		array npztest.Array
		want  string
	}{
		"objects": {npztest.Array{Values: []uint8{1}, Header: header("'|O'", "False",
			"(1,)")}, "contains Python objects"},
		"fortran": {
			npztest.Array{Values: []uint8{1, 2}, Header: header("'|u1'", "True", "(2, 1)")},
			"save numpy.ascontiguousarray(x)",
		},
		"structures": {
			npztest.Array{Values: []uint8{1}, Header: header("[('a', '|u1')]", "False", "(1,)")},
			"records of several fields; read are plain arrays of numbers or strings: from numpy.lib.recfunctions import structured_to_unstructured; save structured_to_unstructured(x)",
		},
		"times": {
			npztest.Array{Values: []int64{1}, Header: header("'<M8[s]'", "False", "(1,)")},
			`save (x - numpy.datetime64(0, "D")) / numpy.timedelta64(1, "D"), or .astype(str) of names`,
		},
		"complex": {
			npztest.Array{Values: []float32{1, 2}, Header: header("'<c8'", "False", "(1,)")},
			"values of type c8 are not supported",
		},
		"half": {
			npztest.Array{Values: []uint8{1, 2}, Header: header("'<f2'", "False", "(1,)")},
			"values of type float16, must be float32",
		},
		"too short": {npztest.Array{Values: []uint8{1, 2}, Header: header("'|u1'", "False",
			"(300,)")}, "are more than it has"},
		"huge": {npztest.Array{Values: []uint8{1, 2}, Header: header("'|u1'", "False",
			"(9223372036854775807, 9)")}, "are more than it has"},
		"no number": {
			npztest.Array{Values: []uint8{1, 2}, Header: header("'|u1'", "False", "(99999999999999999999,)")},
			"a dimension of 99999999999999999999: more than any array has",
		},
		"huge letters": {npztest.Array{Values: []uint8{1, 2}, Header: header("'<U4611686018427387904'", "False",
			"(2,)")}, "are not supported"},
		"wrapping": {npztest.Array{Values: []uint8{1, 2}, Header: header("'<u8'", "False",
			"(2305843009213693953,)")}, "are more than it has"},
		"negative": {npztest.Array{Values: []uint8{1, 2}, Header: header("'|u1'", "False",
			"(-2,)")}, `is not as NumPy writes it; read are arrays of numpy.savez: save numpy.savez("own.npz", **`},
		"too long": {npztest.Array{Values: []uint8{1, 2}, Header: header("'|u1'", "False",
			"(1,)")}, "bytes are left over"},
		"not finite":     {npztest.Array{Values: nan, Shape: []int{1, 2}}, "value [0, 1] is NaN, must be a finite float32"},
		"beyond float32": {npztest.Array{Values: []float64{1e300}, Shape: []int{1}}, "value [0] is 1e+300"},
	} {
		path := filepath.Join(t.TempDir(), "own.npz")
		tt.array.Name = "x"
		npztest.Write(t, path, true, tt.array)
		a, err := read(path, "x")
		if err == nil {
			_, err = a.Floats()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), path+": array x: ") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	path := filepath.Join(t.TempDir(), "own.npz")
	for begin, want := range map[string]string{
		"\x93NUMPY": `one array of numpy.save; save all in one file: numpy.savez("own.npz", x=numpy.load("x.npy"), y=numpy.load("y.npy"))`,
		"\x80\x04":  `a pickle; numpy.savez("own.npz", **pickle.load(open("own.pkl", "rb"))) converts a dict of arrays`,
		"\x1f\x8b":  "packed by gzip; unpack it: gunzip -c own.npz > unpacked.npz",
		"\x89HDF": `HDF5; read it in Python and save numpy.savez("own.npz", ...), ` +
			`or a DataFrame by to_parquet("own.parquet")`,
		"PK\x03": "a zip archive, such as Excel's, or a part of one; unpack it, save its sheet as CSV, or copy it again",
		"abc":    `another file; data.name = "csv" reads tables in text form`,
	} {
		if err := os.WriteFile(path, []byte(begin), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := read(path, "x"); err == nil || err.Error() != path+": not an archive of numpy.savez, but "+want {
			t.Errorf("%q: %v", begin, err)
		}
	}
	packed := filepath.Join(t.TempDir(), "mine.npz.xz")
	if err := os.WriteFile(packed, []byte("\xfd7zXZ"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(packed, "x"); err == nil || !strings.HasSuffix(err.Error(), "unxz -c mine.npz.xz > mine.npz") {
		t.Errorf("packed: %v", err)
	}
	npztest.Write(t, path, false, npztest.Array{Name: "x", Shape: []int{1000}, Values: make([]uint8, 1000)})
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	locked := bytes.Clone(content)
	locked[6] |= 1 // of the member's head
	locked[bytes.LastIndex(locked, []byte("PK\x01\x02"))+8] |= 1
	if err := os.WriteFile(path, locked, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(path, "x"); err == nil || !strings.Contains(err.Error(), "array x: is encrypted; read are") {
		t.Errorf("encrypted: %v", err)
	}
	content[500] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := read(path, "x"); err == nil || !strings.Contains(err.Error(), "checksum error") {
		t.Errorf("a flipped bit: %v", err)
	}
}

// TestClaims: what an archive says of itself is not believed: no size that it
// claims makes room for more than its own bytes can be.
func TestClaims(t *testing.T) {
	for _, tt := range []struct {
		descr, shape     string
		packed, unpacked uint64 // in the archive's list
		want             string
	}{
		{"|u1", "(40000000000,)", 40e9, 40e9, "it says that it has 40000000000 bytes of the array, and has "},
		{"|u1", "(4000000000000,)", 128, 4e12, "are more than it has"},
		{"<f8", "(1099511627776,)", 1 << 33, 1 << 43, "it says that it has 8589934592 bytes"},
		{"<U4611686018427387904", "(3,)", 128, 1 << 62, "are not supported"},
		{"<U2147483647", "(3,)", 128, 1 << 40, "are not supported"},
		{"|u1", "(4294967296, 4294967297)", 128, 1 << 63, "are more than it has"},
		{"|S1", "(100,)", 128, 1000000, "the array ends early"},
	} {
		path := filepath.Join(t.TempDir(), "own.npz")
		body := fmt.Appendf(nil, "\x93NUMPY\x01\x00%c%c{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
			byte(0x76), byte(0), tt.descr, tt.shape)
		body = append(body, strings.Repeat(" ", 10+0x76-len(body))...)
		content := raw(t, body, tt.packed, tt.unpacked)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := read(path, "x")
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), path+": array x: ") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s of %s: %v, want %q", tt.shape, tt.descr, err, tt.want)
		}
	}
}

// raw returns an archive of one array whose list claims any sizes.
func raw(t *testing.T, body []byte, packed, unpacked uint64) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: "x.npy", Method: zip.Store, CompressedSize64: packed,
		UncompressedSize64: unpacked,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestBomb: a small file that unpacks to more than there is memory is refused
// before it is unpacked.
func TestBomb(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bomb.npz")
	npztest.Write(t, path, true, npztest.Array{Name: "x", Shape: []int{1, 10e6}, Values: make([]uint8, 10e6)})
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(2 << 20))
	_, err := read(path, "x")
	if err == nil || !strings.HasPrefix(err.Error(), path+": array x: needs 10 MB of memory, only ") {
		t.Errorf("error %v", err)
	}
}

// TestNames: an array that is there twice is refused, and no name reaches a line as
// it stands.
func TestNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.npz")
	npztest.Write(t, path, false, npztest.Array{Name: "x", Shape: []int{1}, Values: []uint8{1}},
		npztest.Array{Name: "x", Shape: []int{1}, Values: []uint8{2}})
	if _, err := npz.Open(path); err == nil || err.Error() != path+": duplicate array x" {
		t.Errorf("error %v", err)
	}
	wild := "\x1b[31m" + strings.Repeat("w", 60_000)
	npztest.Write(t, path, false, npztest.Array{Name: wild, Shape: []int{1}, Values: []uint8{1}},
		npztest.Array{Name: wild, Shape: []int{1}, Values: []uint8{2}})
	if _, err := npz.Open(path); err == nil || len(err.Error()) > 300 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("error %.500v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := npz.Open(path); err == nil || err.Error() != path+": the file is empty" {
		t.Errorf("error %v", err)
	}
}

// TestNumPy reads what NumPy itself writes.
func TestNumPy(t *testing.T) {
	dir := t.TempDir()
	const program = `
import numpy as np
x = np.arange(24, dtype="uint8").reshape(2, 3, 4, 1)
np.savez("own.npz", x=x, y=np.array([3, 1]), client=np.array(["ann", "Ärger"]), f=np.float64(0.5), sliced=x[:, ::2].astype("float32"), turned=np.zeros((2, 3)).T, c=np.array([b"ab", b"c"]))
np.savez_compressed("small.npz", x=np.zeros((100, 28, 28), dtype="uint8"), big=np.array([[1, -2]], dtype=">i4"), flags=np.array([True, False]), empty=np.zeros((0, 4)))
`
	ran := false
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		cmd := exec.CommandContext(t.Context(), python, "-c", "import numpy")
		if cmd.Run() != nil {
			continue
		}
		cmd = exec.CommandContext(t.Context(), python, "-c", program)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		ran = true
		break
	}
	if !ran {
		t.Skip("no python3 with numpy")
	}
	path := filepath.Join(dir, "own.npz")
	must := func(path, name string) *npz.Array {
		a, err := read(path, name)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	x := must(path, "x")
	if b, err := x.Bytes(); err != nil || len(b) != 24 || b[23] != 23 || fmt.Sprint(x.Shape) != "[2 3 4 1]" {
		t.Errorf("%v %v, %v", x.Shape, b, err)
	}
	if y, err := must(path, "y").Ints(0, 9); err != nil || fmt.Sprint(y) != "[3 1]" {
		t.Errorf("%v, %v", y, err)
	}
	for name, want := range map[string]string{"client": "[ann Ärger]", "c": "[ab c]"} {
		if s, err := must(path, name).Texts(); err != nil || fmt.Sprint(s) != want {
			t.Errorf("%v, %v", s, err)
		}
	}
	if f, err := must(path, "f").Floats(); err != nil || len(f) != 1 || f[0] != 0.5 {
		t.Errorf("%v, %v", f, err)
	}
	if f, err := must(path, "sliced").Floats(); err != nil ||
		fmt.Sprint(f) != "[0 1 2 3 8 9 10 11 12 13 14 15 20 21 22 23]" {
		t.Errorf("%v, %v", f, err)
	}
	if _, err := read(path, "turned"); err == nil || !strings.Contains(err.Error(), "Fortran order") {
		t.Errorf("%v", err)
	}
	path = filepath.Join(dir, "small.npz")
	if b, err := must(path, "x").Bytes(); err != nil || len(b) != 78400 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if n, err := must(path, "big").Ints(-9, 9); err != nil || fmt.Sprint(n) != "[1 -2]" {
		t.Errorf("%v, %v", n, err)
	}
	if b, err := must(path, "flags").Bytes(); err != nil || !slices.Equal(b, []byte{1, 0}) {
		t.Errorf("%v, %v", b, err)
	}
	if a := must(path, "empty"); a.Len() != 0 {
		t.Errorf("%v", a.Shape)
	}
}

// FuzzRead: any bytes give values as the shape says, or one line.
func FuzzRead(f *testing.F) {
	for _, compressed := range []bool{false, true} {
		path := filepath.Join(f.TempDir(), "seed.npz")
		npztest.Write(f, path, compressed,
			npztest.Array{Name: "x", Shape: []int{2, 2}, Values: []float32{1, 2, 3, 4}},
			npztest.Array{Name: "client", Shape: []int{2}, Values: []string{"a", "bc"}})
		content, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
		f.Add(content[:len(content)/2])
	}
	for _, descr := range []string{"<U4611686018427387904", "|S1", "<f8"} {
		content, err := npztest.Encode(true, npztest.Array{
			Name: "x", Values: []uint8{1, 2},
			Header: "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2, 4611686018427387904), }",
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "own.npz")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := npz.Open(path)
		if err != nil {
			return
		}
		defer func() { _ = file.Close() }()
		for _, name := range file.Names() {
			a, err := file.Read(name)
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
			if a == nil {
				continue
			}
			n := 1
			for _, d := range a.Shape {
				n *= d
			}
			var errInts, errTexts, errBytes error
			memtest.Bounded(t, len(content), func() {
				if x, err := a.Floats(); err == nil && len(x) != n {
					t.Errorf("%v: %d floats", a.Shape, len(x))
				}
				_, errInts = a.Ints(0, 9)
				_, errTexts = a.Texts()
				_, errBytes = a.Bytes()
			})
			for _, err := range []error{errInts, errTexts, errBytes} {
				if err != nil && strings.Contains(err.Error(), "\n") {
					t.Errorf("error %q", err)
				}
			}
		}
	})
}
