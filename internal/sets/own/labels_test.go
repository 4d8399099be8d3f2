package own

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestTaken: what labels are taken for, and what notes say of it, in each form in which
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
		{
			[]string{"10", "9"},
			0,
			"[1 0] the classes are the 2 names of the labels in the order of these numbers; save them as floats",
		},
		{[]string{"Zo\u00eb", "Zoe\u0308"}, 0, "differ only in capitals, spaces, zeros or the encoding of accents: Zo"},
		{[]string{"Cat", "cat "}, 0, "differ only in capitals, spaces, zeros or the encoding of accents: Cat"},
		{
			[]string{"0.5", "3"},
			0,
			`texts of numbers such as "0.5"; read are names of classes, or floats to predict: save y.astype("float32")`,
		},
		{[]string{"a", ""}, 0, `label 1 is "", which stands for a missing value`},
		{[]string{"a", "<NA>"}, 0, "stands for a missing value"},
		{names, 0, "the 40 labels, of which 40 differ, are taken for classes"},
		{[]int32{-1, 1, -1}, 0, "[0 1 0] the labels -1 and 1 are taken for the classes 0 and 1"},
		{[]int32{-1, 0, 1}, 0, "label 0 is -1; read are classes from 0"},
		{
			[]int32{-1, 0, 1, 2},
			0,
			"leave samples without a label out, keep = y >= 0; x, y, client = x[keep], y[keep], client[keep], or save numpy.unique(y, return_inverse=True)[1]",
		},
		{
			[]int32{1, 2, 3},
			0,
			"only 3 of the 4 classes 0 to 3 occur: class 0 is the first without samples; the model has outputs for all",
		},
		{[]int32{0, 7, 0, 7}, 0, "only 2 of the 8 classes 0 to 7 occur: class 1 is the first without samples"},
		{[]int32{0, 255, 0}, 0, "[0 1 0] the labels 0 and 255 are taken for the classes 0 and 1"},
		{
			[]int32{0, 1, 2, 255, 255},
			0,
			"2 of 5 labels are 255, the others 0 to 2; read are classes from 0 to 1048575: leave samples without a label out, keep = y != 255; x, y,",
		},
		{[]int32{1, 2, 3, 65535}, 0, "1 of 4 labels are 65535, the others 1 to 3"},
		{[]int32{0, 1, 98, 97, 99}, 0, "[0 1 98 97 99] only 5 of the 100 classes 0 to 99 occur"},
		{
			[]int32{5012, 10007, 90001},
			0,
			"the 3 labels are 3 different integers from 5012 to 90001; read are classes, most of which occur several times: save y.astype(\"float32\") if they are numbers to predict, y.astype(str) if they are names",
		},
		{[]int32{2, 2, 2}, 0, "all labels are class 2: there is nothing to learn"},
		{[]int32{0, 1, 1}, 0, "[0 1 1] "},
		{ints, 0, "the 40 labels are 40 different integers from 0 to 39"},
		{slices.Concat(ints, ints, ints), 0, ""},
		{slices.Concat(ints[1:30], ints[3:30], ints[3:], ints[3:]), 0, "are 39 different integers from 1 to 39"},
		{[]float32{-999, 0.5, 3.25, -999, 1.5}, 1, "2 of the 5 numbers to predict are -999, far from all others"},
		{[]float32{-999, 0.5, 3.25, 2, 1.5}, 1, ""},
		{[]float32{-1, 1}, 1, "though all are whole"},
		{[]float32{1, 2, 3}, 1, "though all are whole"},
		{[]float32{0, 255}, 1, "though all are whole"},
		{[]float32{0.1, 0.9, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9}, 1, "though there are only two"},
		{[]float32{0, 0, 1 /**/, 1, 0, 0}, 3, "though each row has one 1; save y.argmax(axis=1)"},
		{[]float32{0, 1, 1 /**/, 1, 0, 0}, 3, "though all are 0 or 1; save y.astype(bool)"},
		{[]float32{0.2, 0.8 /**/, 0.5, 0.5}, 2, "though each row sums to 1"},
		{[]float32{0.2, 7 /**/, 0.5, 0.5}, 2, ""},
		{[]float32{0, 2e5 /**/, 1, 3e5}, 2, "column 1 of the numbers to predict has the mean 2.5e+05 and " +
			"the deviation 5e+04, which adam and adamw reach slowly; to scale them, save (y - y.mean(axis=0)) / y.std(axis=0)"},
		{[]float32{-1, 1, 1, -1, 1, -1, -1, 1, 1, 1}, 2, "save y > -1 if they say which labels a sample has"},
		{floats, 1, ""},
	} {
		var got string
		switch labels := tt.labels.(type) {
		case []string:
			classes, notes, err := Names(labels)
			got = fmt.Sprint(classes, " ", strings.Join(notes, "\n"), err)
		case []int32:
			classes, notes, err := Classes("y", labels)
			got = fmt.Sprint(classes, " ", strings.Join(notes, "\n"), err)
		case []float32:
			got = strings.Join(Numbers("y", labels, tt.width), "\n")
		}
		if tt.want == "" && !strings.HasSuffix(got, " <nil>") && got != "" || !strings.Contains(got, tt.want) {
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
	}{
		{true, 0, 255, false},
		{true, 0, 1, true},
		{true, 0, 16, true},
		{true, 0, 0, true},
		{false, 0, 1, false},
		{false, -3, 3, false},
		{false, 0, 255, true},
		{false, 0, 0.004, true},
		{false, 2, 2, true},
		{false, 0, 4095, true},
	} {
		if got := Pixels("x", tt.bytes, tt.least, tt.most); (len(got) > 0) != tt.noted {
			t.Errorf("%+v: %q", tt, got)
		}
	}
	for shape, want := range map[[4]int]string{
		{9, 32, 32, 3}: "", {9, 3, 32, 32}: "refused", {9, 1, 28, 28}: "refused", {9, 13, 16, 16}: "refused",
		{9, 200, 9, 9}: "refused", {9, 16, 16, 16}: "noted", {9, 13, 16, 20}: "noted",
		{9, 9, 9, 200}: "noted", {9, 28, 28, 1}: "", {9, 64, 32, 8}: "noted",
		{9, 20, 16, 24}: "noted", {9, 2, 3, 1}: "", {9, 3, 4, 4}: "refused", {9, 4, 4, 4}: "", {9, 6, 32, 48}: "noted",
		{9, 1, 128, 9}: "noted", {9, 1, 64, 48}: "refused", {9, 1, 4, 5}: "refused",
	} {
		note, err := ChannelsFirst("x", shape[:])
		if (err != nil) != (want == "refused") || (note != "") != (want == "noted") {
			t.Errorf("%v: %q, %v, want %q", shape, note, err, want)
		}
	}
}

// TestTags: what notes say of samples with several labels each.
func TestTags(t *testing.T) {
	for _, tt := range []struct {
		starts, labels []int32
		n              int
		want           string
	}{
		{[]int32{0, 2, 3}, []int32{0, 1, 2}, 3, ""},
		{[]int32{0, 0, 0}, nil, 2, "no sample has any label"},
		{[]int32{0, 2, 4}, []int32{0, 1, 0, 1}, 2, "each sample has all labels"},
		{
			[]int32{0, 1, 2},
			[]int32{0, 2},
			3,
			"each sample has exactly one of the labels; if they are classes, save y.argmax(axis=1) instead, and the error is the share of wrong classes\nonly 2 of the 3 labels 0 to 2 occur: label 1 is the first that no sample has; the model has outputs for all",
		},
	} {
		if got := strings.Join(Tags(tt.starts, tt.labels, tt.n), "\n"); got != tt.want &&
			(tt.want == "" || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%v: %q, want %q", tt.labels, got, tt.want)
		}
	}
}

// TestMissingAndWhole: texts that stand for no value, and numbers that name clients.
func TestMissingAndWhole(t *testing.T) {
	for _, text := range []string{"", " ", "nan", "NaN", "NA", "n/a", "#N/A", "<NA>", "NaT", "None", "null", "?"} {
		if Missing("label", 0, text) == nil {
			t.Errorf("%q is a class", text)
		}
	}
	for _, text := range []string{"0", "none", "na", "nat", "Nancy"} {
		if err := Missing("label", 0, text); err != nil {
			t.Error(err)
		}
	}
	for x, want := range map[float64]string{
		3: "3", -2: "-2", math.Copysign(0, -1): "0", 1 << 52: "4503599627370496", 1 << 53: "",
		0.5: "", math.Inf(1): "", 1e300: "",
	} {
		if got, err := Whole("client", x, Exact); got != want || (err == nil) != (want != "") {
			t.Errorf("%v: %q, %v", x, got, err)
		}
	}
}
