package data

import (
	"slices"
	"testing"
)

// TestLabelNotes: what makes every model right, or an output useless, is told.
func TestLabelNotes(t *testing.T) {
	for _, tt := range []struct {
		labels []int32
		want   string
	}{
		{[]int32{0, 2, 1, 1}, ""},
		{[]int32{0, 7}, "2 of 8 classes occur, those from 0 to the largest label: 1 to 6 never do, but the model has outputs for them"},
		{[]int32{1, 2, 2}, "2 of 3 classes occur, those from 0 to the largest label: 0 never do, but the model has outputs for them"},
		{[]int32{1, 3, 5, 7, 9, 11, 13}, "7 of 14 classes occur, those from 0 to the largest label: 0, 2, 4, 6, 8, ... never do, but the model has outputs for them"},
		{[]int32{0, 0}, "all labels are class 0: there is nothing to learn, and a model that always says so has no error"},
		{[]int32{3, 3}, "all labels are class 3: there is nothing to learn, and a model that always says so has no error"},
	} {
		var want []string
		if tt.want != "" {
			want = []string{tt.want}
		}
		if got := LabelNotes(tt.labels, int(slices.Max(tt.labels))+1); !slices.Equal(got, want) {
			t.Errorf("%v: %q, want %q", tt.labels, got, want)
		}
	}
	for _, tt := range []struct {
		starts, labels []int32
		want           []string
	}{
		{[]int32{0, 2, 3, 5}, []int32{0, 2, 1, 0, 1}, nil},
		{[]int32{0, 2, 2}, []int32{0, 2}, []string{"2 of 3 labels occur: 1 never do, but the model has outputs for them"}},
		{[]int32{0, 1, 2}, []int32{0, 2}, []string{
			"each sample has exactly one of the labels; if they are classes, save y.argmax(axis=1) instead, and the error is that of classification",
			"2 of 3 labels occur: 1 never do, but the model has outputs for them",
		}},
		{[]int32{0, 3, 6}, []int32{0, 1, 2, 0, 1, 2}, []string{"each sample has all labels: there is nothing to learn, and no model misses one"}},
		{[]int32{0, 0, 0}, nil, []string{"no sample has any label: there is nothing to learn, and no model misses one"}},
	} {
		if got := TagNotes(tt.starts, tt.labels, 3); !slices.Equal(got, tt.want) {
			t.Errorf("%v of %v: %q, want %q", tt.labels, tt.starts, got, tt.want)
		}
	}
}
