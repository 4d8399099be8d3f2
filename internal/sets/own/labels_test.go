package own

import (
	"fmt"
	"strings"
	"testing"
)

// TestTaken: what labels are taken for, and what is told of it, in each form in which
// people save classes and numbers.
func TestTaken(t *testing.T) {
	many := func(n int) (names []string, ints []int32, floats []float32) {
		for i := range n {
			names, ints, floats = append(names, fmt.Sprint("n", i)), append(ints, int32(i)), append(floats, float32(i)/7)
		}
		return names, ints, floats
	}
	names, ints, floats := many(40)
	for _, tt := range []struct {
		labels any
		width  int
		want   string // classes, then notes; or the error
	}{
		{[]string{"b", "a", "b"}, 0, "[1 0 1] the classes are the 2 names of the labels in alphabetical order"},
		{[]string{"10", "9"}, 0, "[1 0] the classes are the 2 names of the labels in the order of these numbers; save them as floats"},
		{[]string{"Cat", "cat "}, 0, "differ only in capitals or spaces"},
		{[]string{"0.5", "3"}, 0, `texts of numbers such as "0.5"; read are names of classes, or floats to predict: save y.astype("float32")`},
		{[]string{"a", ""}, 0, `label 1 is "", which stands for a missing value`},
		{[]string{"a", "<NA>"}, 0, "stands for a missing value"},
		{names, 0, "the 40 labels, of which 40 differ, are taken for classes"},
		{[]int32{-1, 1, -1}, 0, "[0 1 0] the labels -1 and 1 are taken for the classes 0 and 1"},
		{[]int32{-1, 0, 1}, 0, "label 0 is -1; read are classes from 0"},
		{[]int32{1, 2, 3}, 0, "0 never do"},
		{[]int32{0, 255}, 0, "2 of 256 classes occur"},
		{[]int32{0, 1, 1}, 0, "[0 1 1] "},
		{ints, 0, "save them as floats if they are numbers to predict"},
		{[]float32{-1, 1}, 1, "though all are whole"},
		{[]float32{1, 2, 3}, 1, "though all are whole"},
		{[]float32{0, 255}, 1, "though all are whole"},
		{[]float32{0.1, 0.9, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9}, 1, "though there are only two"},
		{[]float32{0, 0, 1 /**/, 1, 0, 0}, 3, "though each row has one 1; save y.argmax(axis=1)"},
		{[]float32{0, 1, 1 /**/, 1, 0, 0}, 3, "though all are 0 or 1; save y.astype(bool)"},
		{[]float32{0.2, 0.8 /**/, 0.5, 0.5}, 2, "though each row sums to 1"},
		{[]float32{0.2, 7 /**/, 0.5, 0.5}, 2, ""},
		{floats, 1, ""},
	} {
		var got string
		switch labels := tt.labels.(type) {
		case []string:
			classes, notes, err := Names(labels)
			got = fmt.Sprint(classes, " ", strings.Join(notes, "\n"), err)
		case []int32:
			classes, notes, err := Classes(labels)
			got = fmt.Sprint(classes, " ", strings.Join(notes, "\n"), err)
		case []float32:
			got = strings.Join(Numbers("y", labels, tt.width), "\n")
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%v: %s, want %s", tt.labels, got, tt.want)
		}
	}
}

// TestPixels: ranges of pictures that networks do not expect, and channels that come first.
func TestPixels(t *testing.T) {
	for _, tt := range []struct {
		bytes       bool
		least, most float32
		noted       bool
	}{{true, 0, 255, false}, {true, 0, 1, true}, {true, 0, 16, true}, {true, 0, 0, false}, {false, 0, 1, false}, {false, -3, 3, false}, {false, 0, 255, true}, {false, 0, 4095, true}} {
		if got := Pixels("x", tt.bytes, tt.least, tt.most); (len(got) > 0) != tt.noted {
			t.Errorf("%+v: %q", tt, got)
		}
	}
	for shape, want := range map[[4]int]string{
		{9, 32, 32, 3}: "", {9, 3, 32, 32}: "refused", {9, 1, 28, 28}: "refused", {9, 13, 16, 16}: "refused", {9, 200, 9, 9}: "refused", {9, 16, 16, 16}: "noted", {9, 13, 16, 20}: "noted",
		{9, 9, 9, 200}: "", {9, 28, 28, 1}: "", {9, 64, 32, 8}: "", {9, 2, 3, 1}: "", {9, 6, 32, 48}: "noted",
	} {
		note, err := ChannelsFirst("x", shape[:])
		if (err != nil) != (want == "refused") || (note != "") != (want == "noted") {
			t.Errorf("%v: %q, %v, want %q", shape, note, err, want)
		}
	}
}
