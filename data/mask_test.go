package data

import (
	"slices"
	"testing"
)

// TFF's accuracies of next words: the steps of other words and of the end of a
// sentence count or do not.
func TestMasked(t *testing.T) {
	row := append([]uint16{5, 3, 1, 4, 6}, make([]uint16, 16)...) // begin, two words, another one, end
	masks := []Mask{{"no_oov", []int32{4}}, {"no_oov_or_eos", []int32{4, 6}}}
	v := StepView(20, row)
	for _, tt := range []struct {
		view View
		want []int32
	}{
		{v, []int32{3, 1, 4, 6}},
		{v.Masked(masks[0]), []int32{3, 1, -1, 6}},
		{v.Masked(masks[1]), []int32{3, 1, -1, -1}},
		{v, []int32{3, 1, 4, 6}}, // the view itself has not changed
	} {
		tokens, labels := make([]int32, 20), make([]int32, 20)
		must(t, tt.view.Fill([]int32{0}, nil, tokens, labels, nil))
		if !slices.Equal(labels[:4], tt.want) || !slices.Equal(tokens[:5], []int32{5, 3, 1, 4, 6}) {
			t.Errorf("labels %v of tokens %v, must be %v", labels[:4], tokens[:5], tt.want)
		}
	}
	if counts := classCounts(t, v.Masked(masks[1]), 7); !slices.Equal(counts, []int{0, 1, 0, 1, 0, 0, 0}) {
		t.Errorf("labels %v", counts)
	}
	one := span(&windows{seq: 3, text: []byte{1, 2, 3, 4}}, 0, 1)
	if one.Masked(masks[0]).src != one.src || (View{}).Masked(masks[0]).Len() != 0 {
		t.Error("a view with one label per sample is masked")
	}
}
