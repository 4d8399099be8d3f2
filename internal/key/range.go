package key

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
)

// Range is the set of numbers allowed for a key: an interval, single numbers, or both.
// The zero Range contains every finite number.
type Range struct {
	text      string
	bounded   bool
	lo, hi    float64
	low, high bool      // whether the ends are included
	single    []float64 // allowed in addition to the interval
}

// ParseRange parses a range: an interval, single numbers, or both, such as "(0, inf)",
// "[0, 1) or -1" or "0 or 1 or 2". ( and ) exclude the end.
func ParseRange(text string) (Range, error) {
	r := Range{text: text}
	for part := range strings.SplitSeq(text, " or ") {
		if lo, hi, ok := strings.Cut(part, ","); ok && len(lo) > 1 && len(hi) > 1 {
			var errs [2]error
			r.lo, errs[0] = strconv.ParseFloat(lo[1:], 64)
			r.hi, errs[1] = strconv.ParseFloat(strings.TrimSpace(hi[:len(hi)-1]), 64)
			r.low, r.high = lo[0] == '[', hi[len(hi)-1] == ']'
			if errs[0] != nil || errs[1] != nil || r.bounded || !strings.ContainsAny(lo[:1], "[(") || !strings.ContainsAny(hi[len(hi)-1:], "])") {
				return Range{}, fmt.Errorf("range %q: invalid interval %q, want for example [0, 1) or (0, inf)", text, part)
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

// In is like ParseRange but panics on an error. It is for ranges in the source code.
func In(text string) Range {
	r, err := ParseRange(text)
	if err != nil {
		panic("key: " + err.Error())
	}
	return r
}

// Holds reports whether a number is in the range. NaN and infinities never are.
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

// Single reports whether the range is a single number.
func (r Range) Single() bool { return !r.bounded && len(r.single) == 1 }

// String returns the range in the form of ParseRange, empty for every finite number.
func (r Range) String() string { return r.text }

// Schema returns the keywords of JSON Schema that restrict a number to the range.
func (r Range) Schema() map[string]any {
	interval := map[string]any{}
	limit := func(x float64, included bool, with, without string) {
		switch {
		case math.IsInf(x, 0):
		case included:
			interval[with] = x
		default:
			interval[without] = x
		}
	}
	if r.bounded {
		limit(r.lo, r.low, "minimum", "exclusiveMinimum")
		limit(r.hi, r.high, "maximum", "exclusiveMaximum")
	}
	switch {
	case len(r.single) == 0:
		return interval
	case !r.bounded:
		return map[string]any{"enum": r.single}
	}
	return map[string]any{"anyOf": []any{interval, map[string]any{"enum": r.single}}}
}

// words describes the numbers in the range, for an error.
func (r Range) words(whole bool) string {
	number := "a finite number"
	if whole {
		number = "an integer"
	}
	singles := list.Of(r.single, func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) })
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
	case math.IsInf(r.hi, 1) && r.low && whole && r.lo == 0:
		words = "a non-negative integer"
	case math.IsInf(r.hi, 1) && r.low && whole && r.lo == 1:
		words = "a positive integer"
	case math.IsInf(r.hi, 1) && r.low:
		words = fmt.Sprintf("%s >= %v", number, r.lo)
	case math.IsInf(r.hi, 1):
		words = fmt.Sprintf("%s > %v", number, r.lo)
	case whole:
		words = "an integer " + words
	}
	if text != "" {
		words += ", or " + text
	}
	return words
}
