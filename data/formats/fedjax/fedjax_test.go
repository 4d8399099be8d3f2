package fedjax

import (
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data/formats/fedjax/fedjaxtest"
	"github.com/fedfast/fedfast/data/formats/tff/tfftest"
)

// TestDecodeByHand reads {"y": int32 [7, 300], "s": texts [b"a"]} in FedJAX's form,
// worked out by hand from the specification of msgpack.
func TestDecodeByHand(t *testing.T) {
	packed, err := hex.DecodeString("82" +
		"a179" + "c713" + "01" + "93" + "9102" + "a5" + "696e743332" + "c408" + "07000000" + "2c010000" +
		"a173" + "c707" + "04" + "92" + "9101" + "91" + "c40161")
	if err != nil {
		t.Fatal(err)
	}
	arrays, err := decode(packed)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := arrays.Labels("y", 301); err != nil || !slices.Equal(got, []int32{7, 300}) {
		t.Errorf("labels %v, %v", got, err)
	}
	if got, err := arrays.Texts("s"); err != nil || len(got) != 1 || string(got[0]) != "a" {
		t.Errorf("texts %q, %v", got, err)
	}
	for n := range packed {
		if _, err := decode(packed[:n]); !errors.Is(err, errPack) {
			t.Errorf("the first %d of %d bytes: error %v", n, len(packed), err)
		}
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	pixels := make([]float32, 300*784)
	for i := range pixels {
		pixels[i] = float32(i)
	}
	texts := slices.Repeat([][]byte{[]byte(strings.Repeat("x", 70000)), {}}, 10)
	fedjaxtest.Write(t, path, []fedjaxtest.Client{
		{ID: "b", Examples: 300, Arrays: []fedjaxtest.Array{
			{Name: "pixels", Shape: []int{300, 28, 28}, Floats: pixels}, {Name: "label", Shape: []int{300}, Ints: make([]int32, 300)},
		}},
		{ID: "a", Examples: 20, Arrays: []fedjaxtest.Array{{Name: "snippets", Shape: []int{20}, Texts: texts}}},
	})
	var ids []string
	err := Read(t.Context(), path, func(client string, n int, arrays Arrays) error {
		ids = append(ids, client)
		if client == "a" {
			got, err := arrays.Texts("snippets")
			if err == nil && (n != 20 || !slices.EqualFunc(got, texts, slices.Equal)) {
				t.Errorf("%d texts of %d examples", len(got), n)
			}
			return err
		}
		got, err := arrays.Floats("pixels", 784)
		if err == nil && (n != 300 || !slices.Equal(got, pixels)) {
			t.Errorf("%d floats of %d examples", len(got), n)
		}
		return err
	})
	if err != nil || !slices.Equal(ids, []string{"b", "a"}) {
		t.Errorf("clients %q, %v", ids, err)
	}
}

func TestReadErrors(t *testing.T) {
	label := func(n int, values ...int32) []fedjaxtest.Array {
		return []fedjaxtest.Array{{Name: "label", Shape: []int{n}, Ints: values}}
	}
	whole := fedjaxtest.Deflate(t, fedjaxtest.Pack(label(2, 1, 2)...))
	for _, tt := range []struct {
		name   string
		client fedjaxtest.Client
		want   string
	}{
		{"no zlib", fedjaxtest.Client{Data: []byte("none")}, "the zlib data are damaged: zlib: invalid header"},
		{"cut off", fedjaxtest.Client{Data: whole[:len(whole)-6]}, "the zlib data end early; is the file complete?"},
		{"no msgpack", fedjaxtest.Client{Data: fedjaxtest.Deflate(t, []byte("none"))}, "is no msgpack of arrays"},
		{"array twice", fedjaxtest.Client{Examples: 1, Arrays: append(label(1, 1), label(1, 2)...)}, "has array label twice"},
		{"count", fedjaxtest.Client{Examples: 3, Arrays: label(2, 1, 2)}, "array label has shape [2], num_examples is 3"},
		{"shape", fedjaxtest.Client{Examples: 3, Arrays: label(3, 1, 2)}, `array "label": holds 8 bytes, shape [3] of int32 needs 12`},
		{"class", fedjaxtest.Client{Examples: 2, Arrays: label(2, 1, 10)}, "label 10 of example 2 must be in 0 to 9"},
		{"name", fedjaxtest.Client{Examples: 1, Arrays: []fedjaxtest.Array{{Name: "y", Shape: []int{1}, Ints: []int32{1}}}}, "has no array label"},
		{"type", fedjaxtest.Client{Examples: 1, Arrays: []fedjaxtest.Array{{Name: "label", Shape: []int{1}, Floats: []float32{1}}}}, "array label is of float32, must be of integers"},
		{"rows", fedjaxtest.Client{Examples: 1, Arrays: []fedjaxtest.Array{{Name: "label", Shape: []int{1, 2}, Ints: []int32{1, 2}}}}, "array label has shape [1 2], must be examples of 1 values"},
		{"texts", fedjaxtest.Client{Examples: 2, Arrays: []fedjaxtest.Array{{Name: "label", Shape: []int{2}, Texts: [][]byte{{}}}}}, `array "label": holds 1 texts, shape [2] needs 2`},
		{"size", fedjaxtest.Client{Examples: 65535, Arrays: []fedjaxtest.Array{{Name: "label", Shape: []int{65535, 65535, 65535}, Ints: []int32{1}}}}, `array "label": dimensions [65535] and 65535 are too large`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.sqlite")
			tt.client.ID = "f1"
			fedjaxtest.Write(t, path, []fedjaxtest.Client{tt.client})
			err := Read(t.Context(), path, func(_ string, _ int, arrays Arrays) error {
				_, err := arrays.Labels("label", 10)
				return err
			})
			if want := path + `: client "f1": ` + tt.want; err == nil || err.Error() != want {
				t.Errorf("error %v\nmust be %s", err, want)
			}
		})
	}
	for _, tt := range []struct{ name, statement, list, read string }{
		{"client twice", "INSERT INTO federated_data SELECT CAST(client_id AS TEXT), data, num_examples FROM federated_data", `: client "f1" is in it twice`, `: client "f1" is in it twice`},
		{"endless view", "ALTER TABLE federated_data RENAME TO t; CREATE VIEW federated_data AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT client_id, data, num_examples FROM t, n", ": federated_data is a view, must be a table", ": federated_data is a view, must be a table"},
		{"largest number", "UPDATE federated_data SET num_examples = 9223372036854775807", `client "f1": num_examples is 9223372036854775807, must be 0 to `, `client "f1": array label has shape [2], num_examples is 9223372036854775807`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.sqlite")
			fedjaxtest.Write(t, path, []fedjaxtest.Client{{ID: "f1", Examples: 2, Arrays: label(2, 1, 2)}})
			tfftest.Exec(t, path, tt.statement)
			_, err := OpenClients(t.Context(), path)
			if err == nil || !strings.Contains(err.Error(), tt.list) || strings.Contains(err.Error(), "\n") {
				t.Errorf("OpenClients: error %v\nmust have %s", err, tt.list)
			}
			err = Read(t.Context(), path, func(string, int, Arrays) error { return nil })
			if err == nil || !strings.Contains(err.Error(), tt.read) {
				t.Errorf("Read: error %v\nmust have %s", err, tt.read)
			}
		})
	}
	if err := Read(t.Context(), filepath.Join(t.TempDir(), "none.sqlite"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(fedjaxtest.Pack(
		fedjaxtest.Array{Name: "pixels", Shape: []int{1, 2}, Floats: []float32{1, float32(math.Inf(1))}},
		fedjaxtest.Array{Name: "snippets", Shape: []int{1}, Texts: [][]byte{[]byte("x")}}))
	f.Fuzz(func(t *testing.T, packed []byte) {
		arrays, err := decode(packed)
		if err != nil {
			return
		}
		total := 0
		for name, a := range arrays {
			total += len(a.Data) + len(a.Texts)
			if _, err := arrays.Labels(name, 1<<30); err == nil && len(a.Shape) == 0 {
				t.Errorf("array %q of no dimensions has labels", name)
			}
		}
		if total > len(packed) {
			t.Errorf("%d values from %d bytes", total, len(packed))
		}
	})
}
