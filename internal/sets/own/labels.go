// Package own decides what the samples of users' own files are taken for, says so where
// another reading is likely, and words what cannot be read: the same for every format.
package own

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Refused is the error of what cannot be read: what there is, what is read, and what
// converts it.
func Refused(there, read, way string) error {
	return fmt.Errorf("%s; read are %s: %s", there, read, way)
}

// Missing returns an error if a text stands for a value that is not there.
func Missing(what string, i int, text string) error {
	switch strings.TrimSpace(text) {
	case "", "nan", "NaN", "NAN", "NA", "N/A", "<NA>", "NaT", "None", "null", "NULL":
		return fmt.Errorf("%s %d is %q, which stands for a missing value; leave such samples out, or call it something else", what, i, text)
	}
	return nil
}

// Names returns the classes of labels that are texts, numbered in their order, and notes.
func Names(texts []string) (labels []int32, notes []string, err error) {
	for i, text := range texts {
		if err := Missing("label", i, text); err != nil {
			return nil, nil, err
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(texts)))
	var folded []string
	numbers, order := true, "alphabetical order"
	values := map[string]float64{}
	for _, name := range names {
		x, err := strconv.ParseFloat(strings.TrimSpace(name), 64)
		numbers = numbers && err == nil
		values[name] = x
		folded = append(folded, strings.ToLower(strings.TrimSpace(name)))
	}
	if numbers {
		if i := slices.IndexFunc(names, func(name string) bool { return values[name] != math.Trunc(values[name]) }); i >= 0 {
			return nil, nil, Refused(fmt.Sprintf("the labels are texts of numbers such as %q", names[i]), "names of classes, or floats to predict", `save y.astype("float32")`)
		}
		order = "the order of these numbers; save them as floats if they are to be predicted"
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(values[a], values[b]) })
	}
	classes := map[string]int32{}
	for i, name := range names {
		classes[name] = int32(i)
	}
	for _, text := range texts {
		labels = append(labels, classes[text])
	}
	notes = append(notes, fmt.Sprintf("the classes are the %d names of the labels in %s", len(names), order))
	if slices.Sort(folded); len(slices.Compact(folded)) < len(names) {
		notes = append(notes, "some names of classes differ only in capitals or spaces: "+oneline.Names(names))
	}
	return labels, append(notes, likeNumbers(len(names), len(texts))...), nil
}

// Classes returns the classes of labels that are integers, in place, and notes.
func Classes(labels []int32) ([]int32, []string, error) {
	seen := map[int32]bool{}
	for _, l := range labels {
		seen[l] = true
	}
	least := slices.Min(labels)
	switch {
	case least < 0 && len(seen) == 2 && seen[-1] && seen[1]:
		for i, l := range labels {
			labels[i] = max(l, 0)
		}
		return labels, []string{"the labels -1 and 1 are taken for the classes 0 and 1"}, nil
	case least < 0:
		return nil, nil, Refused(fmt.Sprintf("label %d is %d", slices.Index(labels, least), least), fmt.Sprintf("classes from 0 to %d", data.MaxOwnClasses-1),
			"leave out samples without a label, such as x[y >= 0], y[y >= 0], or save numpy.unique(y, return_inverse=True)[1]")
	}
	return labels, append(data.LabelNotes(labels, int(slices.Max(labels))+1), likeNumbers(len(seen), len(labels))...), nil
}

// likeNumbers returns a note where labels that are taken for classes may be numbers.
func likeNumbers(different, n int) []string {
	if different <= 20 || different <= n/3 {
		return nil
	}
	return []string{fmt.Sprintf("the %d labels, of which %d differ, are taken for classes; save them as floats if they are numbers to predict", n, different)}
}

// Numbers returns notes on rows of width floats, which are to be predicted, where they
// may be classes.
func Numbers(what string, values []float32, width int) []string {
	const many = 1000
	seen, whole, small, bits, ones, shares := map[float32]bool{}, true, true, true, true, true
	sum := float32(0)
	for i, x := range values {
		if len(seen) <= many {
			seen[x] = true
		}
		whole, small, bits = whole && x == float32(math.Trunc(float64(x))), small && x >= 0 && x < many, bits && (x == 0 || x == 1)
		if sum += x; i%width == width-1 {
			ones, shares = ones && sum == 1, shares && math.Abs(float64(sum)-1) < 1e-3
			sum = 0
		}
	}
	holds := fmt.Sprintf("%s holds floats, so they are numbers to predict, though ", what)
	switch {
	case width > 1 && bits && ones:
		return []string{holds + "each row has one 1; save y.argmax(axis=1) if these are classes"}
	case width > 1 && bits:
		return []string{holds + "all are 0 or 1; save y.astype(bool) if they say which labels a sample has"}
	case width > 1 && shares && small:
		return []string{holds + "each row sums to 1; save y.argmax(axis=1) if these are shares of classes"}
	case width > 1:
		return nil
	case len(seen) == 1:
		return []string{fmt.Sprintf("all numbers to predict are %v: there is nothing to learn", values[0])}
	case whole && (small || len(seen) <= 20):
		return []string{holds + "all are whole; save it as integers if they are classes, numpy.unique(y, return_inverse=True)[1]"}
	case len(seen) == 2 && len(values) > 9:
		return []string{holds + "there are only two; save numpy.unique(y, return_inverse=True)[1] if they are classes"}
	}
	return nil
}
