package tff

import (
	"errors"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fedfast/fedfast/internal/test/tfftest"
)

func TestDecode(t *testing.T) {
	floats, ints := []float32{1, 0.5, -0.25, math.MaxFloat32}, []int64{0, 255, -1, math.MaxInt64}
	for _, unpacked := range []bool{false, true} {
		message := tfftest.Example(
			tfftest.Feature{Name: "pixels", Floats: floats, Unpacked: unpacked},
			tfftest.Feature{Name: "image", Ints: ints, Unpacked: unpacked},
			tfftest.Feature{Name: "label", Ints: []int64{61}, Unpacked: unpacked},
			tfftest.Feature{Name: "snippets", Text: []byte("To be\x00")},
		)
		// A field that a later version may add.
		message = protowire.AppendTag(message, 9, protowire.Fixed64Type)
		message = protowire.AppendFixed64(message, 1)
		var e Example
		for range 2 { // the second time in used memory
			if err := e.Decode(message); err != nil {
				t.Fatal(err)
			}
			if got, err := e.Floats("pixels", 4); err != nil || !slices.Equal(got, floats) {
				t.Errorf("floats %v, %v", got, err)
			}
			if got, err := e.Ints("image", 4); err != nil || !slices.Equal(got, ints) {
				t.Errorf("integers %v, %v", got, err)
			}
			if got, err := e.Label("label", 62); err != nil || got != 61 {
				t.Errorf("label %v, %v", got, err)
			}
			if got, err := e.Text("snippets"); err != nil || string(got) != "To be\x00" {
				t.Errorf("text %q, %v", got, err)
			}
		}
		if n := testing.AllocsPerRun(10, func() {
			if err := e.Decode(message); err != nil {
				t.Fatal(err)
			}
		}); n > 8 {
			t.Errorf("decoding into used memory allocates %v times", n)
		}
	}
}

func TestExampleErrors(t *testing.T) {
	var e Example
	if err := e.Decode(tfftest.Example(
		tfftest.Feature{Name: "pixels", Floats: make([]float32, 783)},
		tfftest.Feature{Name: "label", Ints: []int64{62}},
		tfftest.Feature{Name: "two", Ints: []int64{1, 2}},
	)); err != nil {
		t.Fatal(err)
	}
	_, short := e.Floats("pixels", 784)
	_, wrongKind := e.Ints("pixels", 783)
	_, missing := e.Text("snippets")
	_, large := e.Label("label", 62)
	_, two := e.Label("two", 62)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{short, "feature pixels holds 783 floats, must be 784 floats"},
		{wrongKind, "feature pixels holds 783 floats, must be 783 integers"},
		{missing, "has no feature snippets"},
		{large, "label 62 must be in 0 to 61"},
		{two, "feature two holds 2 integers, must be 1 integers"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("error %v, want %s", tt.err, tt.want)
		}
	}
}

func TestDecodeDamaged(t *testing.T) {
	whole := tfftest.Example(tfftest.Feature{Name: "label", Ints: []int64{300}})
	var e Example
	for n := 1; n < len(whole); n++ {
		if err := e.Decode(whole[:n]); !errors.Is(err, errWire) {
			t.Errorf("the first %d of %d bytes: error %v", n, len(whole), err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(tfftest.Example(tfftest.Feature{Name: "pixels", Floats: []float32{1, 0}},
		tfftest.Feature{Name: "label", Ints: []int64{3}, Unpacked: true}))
	f.Add(tfftest.Example(tfftest.Feature{Name: "snippets", Text: []byte("x")}))
	f.Fuzz(func(t *testing.T, message []byte) {
		var e Example
		if err := e.Decode(message); err != nil {
			return
		}
		total := 0
		for i := range e.features[:e.used] {
			total += e.features[i].len()
		}
		if total > len(message) {
			t.Errorf("%d values from %d bytes", total, len(message))
		}
	})
}
