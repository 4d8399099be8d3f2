package list

import (
	"slices"
	"testing"
)

func TestList(t *testing.T) {
	all := []int{1, 2, 3, 4}
	even := func(n int) bool { return n%2 == 0 }
	if got := Of(all, func(n int) bool { return n > 2 }); !slices.Equal(got, []bool{false, false, true, true}) {
		t.Errorf("Of: %v", got)
	}
	if got := Where(all, even); !slices.Equal(got, []int{2, 4}) {
		t.Errorf("Where: %v", got)
	}
	if n, sum := Count(all, even), Sum(all, func(n int) int { return n * n }); n != 2 || sum != 30 {
		t.Errorf("Count: %d, Sum: %d", n, sum)
	}
	if Of([]int{}, even) != nil || Where(all, func(int) bool { return false }) != nil {
		t.Error("nothing must be nil, as JSON shows it")
	}
}
