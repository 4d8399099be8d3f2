package key

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Range says which numbers a key may have: those of an interval, and single ones.
// The zero Range holds every finite number.
type Range struct {
	text      string
	bounded   bool
	lo, hi    float64
	low, high bool      // whether the ends are inside
	single    []float64 // besides those of the interval, or alone
}

// ParseRange reads a range as tags have it: an interval, where ( and ) leave the
// end out, single numbers, or both: "(0, inf)", "[0, 1) or -1", "0 or 1 or 2".
func ParseRange(text string) (Range, error) {
	r := Range{text: text}
	for part := range strings.SplitSeq(text, " or ") {
		if lo, hi, ok := strings.Cut(part, ","); ok && len(lo) > 1 && len(hi) > 1 {
			var errs [2]error
			r.lo, errs[0] = strconv.ParseFloat(lo[1:], 64)
			r.hi, errs[1] = strconv.ParseFloat(strings.TrimSpace(hi[:len(hi)-1]), 64)
			r.low, r.high = lo[0] == '[', hi[len(hi)-1] == ']'
			if errs[0] != nil || errs[1] != nil || r.bounded || !strings.ContainsAny(lo[:1], "[(") || !strings.ContainsAny(hi[len(hi)-1:], "])") {
				return Range{}, fmt.Errorf("range %q: %q is no interval such as [0, 1) or (0, inf)", text, part)
			}
			r.bounded = true
			continue
		}
		x, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return Range{}, fmt.Errorf("range %q: %q is neither an interval nor a number", text, part)
		}
		r.single = append(r.single, x)
	}
	return r, nil
}

// In is ParseRange for ranges that stand in the program.
func In(text string) Range {
	r, err := ParseRange(text)
	if err != nil {
		panic("key: " + err.Error())
	}
	return r
}

// Holds says whether a number is in the range. No number and an infinite one never
// are.
func (r Range) Holds(x float64) bool {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return false
	case slices.Contains(r.single, x):
		return true
	case !r.bounded:
		return len(r.single) == 0
	}
	return (x > r.lo || r.low && x == r.lo) && (x < r.hi || r.high && x == r.hi)
}

// Single says whether the range holds one number only.
func (r Range) Single() bool { return !r.bounded && len(r.single) == 1 }

// String writes the range as its tag has it, empty for every finite number.
func (r Range) String() string { return r.text }

// words says what a number must be to lie in the range.
func (r Range) words(whole bool) string {
	number := "a finite number"
	if whole {
		number = "a whole number"
	}
	var singles []string
	for _, x := range r.single {
		singles = append(singles, strconv.FormatFloat(x, 'g', -1, 64))
	}
	text := strings.Join(singles, ", ")
	switch {
	case !r.bounded && text == "":
		return number
	case !r.bounded && len(r.single) == 1:
		return text
	case !r.bounded:
		return "one of " + text
	}
	words := "in " + strings.SplitN(r.text, " or ", 2)[0]
	switch {
	case math.IsInf(r.hi, 1) && r.low:
		words = fmt.Sprintf("%s of %v or more", number, r.lo)
	case math.IsInf(r.hi, 1):
		words = fmt.Sprintf("%s above %v", number, r.lo)
	case whole && r.low && r.high:
		words = fmt.Sprintf("a whole number from %v to %v", r.lo, r.hi)
	}
	if text != "" {
		words += ", or " + text
	}
	return words
}
