// Package own decides what the samples of users' own files are taken for, says so where
// another reading is likely, and words what cannot be read: the same for every format.
package own

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"golang.org/x/text/unicode/norm"
)

// Refused is the error of what cannot be read: what there is, what is read, and what
// converts it.
func Refused(there, read, way string) error {
	return fmt.Errorf("%s; read are %s: %s", there, read, way)
}

// Missing returns an error if a text stands for a value that is not there.
func Missing(what string, i int, text string) error {
	if !IsMissing(text) {
		return nil
	}
	return fmt.Errorf("%s %d is %q, which stands for a missing value; leave such samples out, or call it something else", what, i, strings.TrimSpace(text))
}

// IsMissing reports whether a text stands for a value that is not there.
func IsMissing(text string) bool {
	const longest = 4
	if text = strings.TrimSpace(text); len(text) > longest {
		return false
	}
	switch strings.ToLower(text) {
	case "", "nan", "n/a", "#n/a", "<na>", "null", "?":
		return true
	}
	return text == "NA" || text == "NaT" || text == "None"
}

// Exact and Exact32 are where floats begin to round integers.
const (
	Exact   = 1 << 53
	Exact32 = 1 << 24
)

// Whole returns the text of a number that names a client, a float that rounds integers from exact.
func Whole(name string, x, exact float64) (string, error) {
	if math.Abs(x) >= exact {
		name = strings.TrimPrefix(name, "frame.")
		there := fmt.Sprintf("%v names a client, but floats round ids from %.0f, so that clients may become one", x, exact)
		return "", Refused(there, "integers and names",
			fmt.Sprintf("read ids as texts where they come from, as by pandas.read_csv(file, dtype={%q: str})", name))
	}
	if x != math.Trunc(x) {
		return "", Refused(fmt.Sprintf("%v names a client", x), "integers and names", fmt.Sprintf("save %s.astype(str)", name))
	}
	return strconv.FormatFloat(x+0, 'f', 0, 64), nil // + 0 for -0
}

// Keep returns the lines that leave samples out of arrays, or rows out of a frame, where
// a condition on one of them does not hold, in which %s stands for it.
func Keep(name, condition string) string {
	condition = fmt.Sprintf(condition, name)
	if strings.HasPrefix(name, "frame.") {
		return fmt.Sprintf("frame = frame[%s]", condition)
	}
	_, part, found := strings.Cut(name, "_")
	if found {
		part = "_" + part
	}
	return fmt.Sprintf("keep = %s; x%[2]s, y%[2]s, client%[2]s = x%[2]s[keep], y%[2]s[keep], client%[2]s[keep]", condition, part)
}

// Label gives a federation the classes of labels, which are names or integers, and notes. The name is as in Classes,
// the first samples are for training.
func Label(fed *data.Federation, name string, names []string, labels []int32, train int) ([]int32, error) {
	number := func(l int32) string { return strconv.Itoa(int(l)) }
	fed.Notes = slices.Concat(fed.Notes, Unseen(names, train, strings.Clone), Unseen(labels, train, number))
	by := func() ([]int32, []string, error) { return Classes(name, labels) }
	if names != nil {
		by = func() ([]int32, []string, error) { return Names(names) }
	}
	labels, notes, err := by()
	if err == nil {
		fed.Classes, fed.Notes = int(slices.Max(labels))+1, append(fed.Notes, notes...)
	}
	return labels, err
}

// Unseen returns a note where labels after the first ones, which are for training, are others that have a name.
func Unseen[T comparable](labels []T, train int, name func(T) string) []string {
	seen := map[T]bool{}
	for _, l := range labels[:min(train, len(labels))] {
		seen[l] = true
	}
	others := list.Where(labels[min(train, len(labels)):], func(l T) bool { return !seen[l] && name(l) != "" })
	if len(others) == 0 {
		return nil
	}
	names := slices.Compact(slices.Sorted(slices.Values(list.Of(others, name))))
	return []string{fmt.Sprintf("classes that only test samples have, and no model learns: %s (%s)", oneline.Names(names),
		oneline.Count(len(others), "sample"))}
}

// Names returns the classes of labels that are texts, numbered in their order, and notes.
func Names(texts []string) (labels []int32, notes []string, err error) {
	for i, text := range texts {
		if err := Missing("label", i, text); err != nil {
			return nil, nil, err
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(texts)))
	numbers, order := true, "alphabetical order"
	values := map[string]float64{}
	for _, name := range names {
		x, err := strconv.ParseFloat(strings.TrimSpace(name), 64)
		numbers = numbers && err == nil
		values[name] = x
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
	labels = list.Of(texts, func(text string) int32 { return classes[text] })
	notes = append(notes, fmt.Sprintf("the classes are the %d names of the labels in %s", len(names), order))
	notes = append(notes, Alike("names of classes", names)...)
	if len(names) > 20 && len(names) > len(texts)/3 {
		notes = append(notes, fmt.Sprintf("the %d labels, of which %d differ, are taken for classes; save them as floats if they are numbers to predict", len(texts), len(names)))
	}
	return labels, notes, nil
}

// zeros match the zeros of a number that say nothing.
var zeros = regexp.MustCompile(`^0+(\d)|\.0+$`)

// Alike returns a note on names that differ only in capitals, spaces, zeros that say nothing, or how their accents
// are written (NFC or NFD).
func Alike(what string, names []string) []string {
	first, alike := map[string]string{}, []string(nil)
	for _, name := range names {
		plain := zeros.ReplaceAllString(norm.NFC.String(strings.ToLower(strings.Join(strings.Fields(name), ""))), "$1")
		if one, is := first[plain]; is {
			alike = append(alike, one, name)
		} else {
			first[plain] = name
		}
	}
	if alike == nil {
		return nil
	}
	return []string{fmt.Sprintf("some %s differ only in capitals, spaces, zeros or the encoding of accents: %s",
		what, oneline.Names(alike))}
}

// ByClient returns the samples of each client, as data.ByClient does, and notes in fed whose names are alike.
func ByClient(fed *data.Federation, all data.View, clients []string, train int) []data.Examples {
	examples := data.ByClient(all, clients, train)
	names := list.Of(examples, func(e data.Examples) string { return e.Client })
	fed.Notes = append(fed.Notes, Alike("clients", list.Where(names, func(name string) bool { return name != "" }))...)
	return examples
}

// codes are numbers by which people say that there is no value.
var codes = []int32{99, 127, 255, 999, 9999, 32767, 65535, 99999, 999999}

// Classes returns the classes of labels that are integers, in place, and notes. The name
// is of the labels in lines of Python.
func Classes(name string, labels []int32) ([]int32, []string, error) {
	counts := map[int32]int{}
	for _, l := range labels {
		counts[l]++
	}
	seen := slices.Sorted(maps.Keys(counts))
	n, least, most := len(seen), seen[0], seen[len(seen)-1]
	classes := fmt.Sprintf("classes from 0 to %d", data.MaxOwnClasses-1)
	anew := fmt.Sprintf("numpy.unique(%s, return_inverse=True)[1]", name)
	code := slices.Contains(codes, most)
	switch {
	case n == 2 && (least == -1 && most == 1 || least == 0 && code):
		for i, l := range labels {
			labels[i] = 0
			if l == most {
				labels[i] = 1
			}
		}
		return labels, []string{fmt.Sprintf("the labels %d and %d are taken for the classes 0 and 1", least, most)}, nil
	case least >= 0 && n > 2 && code && int(seen[n-2]) < min(2*n, int(most)/2):
		return nil, nil, Refused(fmt.Sprintf("%d of %d labels are %d, the others %d to %d", counts[most], len(labels), most, least, seen[n-2]), classes,
			fmt.Sprintf("leave samples without a label out, %s, or save %s if %d is a class", Keep(name, fmt.Sprintf("%%s != %d", most)), anew, most))
	case n > 20 && (least < 0 || n > len(labels)/2 || n <= int(most) && n > len(labels)/5) || most > 1000 && n < int(most)/2:
		return nil, nil, Refused(fmt.Sprintf("the %d labels are %d different integers from %d to %d", len(labels), n, least, most), "classes, most of which occur several times",
			fmt.Sprintf("save %s.astype(\"float32\") if they are numbers to predict, %[1]s.astype(str) if they are names of classes", name))
	case least < 0:
		return nil, nil, Refused(fmt.Sprintf("label %d is %d", slices.Index(labels, least), least), classes,
			fmt.Sprintf("leave samples without a label out, %s, or save %s", Keep(name, "%s >= 0"), anew))
	}
	return labels, occur(labels, int(most)+1), nil
}

// occur says what is odd about which classes occur: only one, or not all.
func occur(labels []int32, classes int) []string {
	there, absent := seenOf(labels, classes)
	switch {
	case there == 1:
		return []string{fmt.Sprintf("all labels are class %d: there is nothing to learn, and a model that always says so has no error", labels[0])}
	case absent >= 0:
		note := fmt.Sprintf("only %d of the %d classes 0 to %d occur: class %d is the first without samples; "+
			"the model has outputs for all", there, classes, classes-1, absent)
		if there > 20 {
			note += "; save them as floats if they are numbers to predict"
		}
		return []string{note}
	}
	return nil
}

// seenOf counts the labels that occur, and returns the first that does not, or -1.
func seenOf(labels []int32, n int) (there, absent int) {
	seen := make([]bool, n)
	for _, l := range labels {
		if !seen[l] {
			there++
		}
		seen[l] = true
	}
	return there, slices.Index(seen, false)
}

// Tags says what is odd about samples with several of n labels each, those of sample i
// being labels[starts[i]:starts[i+1]].
func Tags(starts, labels []int32, n int) (notes []string) {
	one, all := true, true
	for i := range len(starts) - 1 {
		has := int(starts[i+1] - starts[i])
		one, all = one && has == 1, all && has == n
	}
	there, absent := seenOf(labels, n)
	switch {
	case there == 0:
		return []string{"no sample has any label: there is nothing to learn, and no model misses one"}
	case all:
		return []string{"each sample has all labels: there is nothing to learn, and no model misses one"}
	case one:
		notes = append(notes, "each sample has exactly one of the labels; if they are classes, save y.argmax(axis=1) instead, and the error is the share of wrong classes")
	}
	if absent >= 0 {
		notes = append(notes, fmt.Sprintf("only %d of the %d labels 0 to %d occur: label %d is the first that no sample has; the model has outputs for all", there, n, n-1, absent))
	}
	return notes
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
	rare, times := apart(values)
	holds := fmt.Sprintf("%s holds floats, so they are numbers to predict, though ", what)
	switch {
	case width > 1 && bits && ones:
		return []string{holds + "each row has one 1; save y.argmax(axis=1) if these are classes"}
	case width > 1 && bits:
		return []string{holds + "all are 0 or 1; save y.astype(bool) if they say which labels a sample has"}
	case width > 1 && shares && small:
		return []string{holds + "each row sums to 1; save y.argmax(axis=1) if these are shares of classes"}
	case width > 1 && len(seen) == 2 && len(values) > 9:
		least := slices.Min(values)
		return []string{holds + fmt.Sprintf("there are only two; save y > %v if they say which labels a sample has", least)}
	case width > 1:
		return Scale(values, width)
	case len(seen) == 1:
		return []string{fmt.Sprintf("all numbers to predict are %v: there is nothing to learn", values[0])}
	case rare >= 0 && (!whole || !small):
		return []string{fmt.Sprintf("%d of the %d numbers to predict are %v, far from all others; leave such samples out if it says that there is none", times, len(values), values[rare])}
	case whole && (small || len(seen) <= 20):
		return []string{holds + "all are whole; save it as integers if they are classes, numpy.unique(y, return_inverse=True)[1]"}
	case len(seen) == 2 && len(values) > 9:
		return []string{holds + "there are only two; save numpy.unique(y, return_inverse=True)[1] if they are classes"}
	}
	return Scale(values, width)
}

// moments are the mean of numbers and their deviation from it.
func moments[T float32 | float64](values iter.Seq[T]) (mean, std float64) {
	first, sum, square, n := math.NaN(), 0.0, 0.0, 0.0
	for x := range values {
		if f := float64(x); f == f {
			if n == 0 {
				first = f
			}
			f -= first // what is left of squares otherwise
			sum, square, n = sum+f, square+float64(f*f), n+1
		}
	}
	mean = sum / n
	return first + mean, math.Sqrt(max(0, square/n-float64(mean*mean)))
}

// Scale returns a note on rows of width numbers to predict that are far from 1.
func Scale(values []float32, width int) []string {
	for k := range width {
		mean, std := moments(func(yield func(float32) bool) {
			for i := k; i < len(values); i += width {
				if !yield(values[i]) {
					return
				}
			}
		})
		what := ToPredict
		way := fmt.Sprintf("(y - %.0f) / %.4g, an RMSE of 1 then is %.4[2]g of y", mean, std)
		if width > 1 {
			what = fmt.Sprintf("column %d of the numbers to predict has", k)
			way = "(y - y.mean(axis=0)) / y.std(axis=0)"
		}
		if max(math.Abs(mean), std) >= 1000 && std > 0 {
			return []string{fmt.Sprintf("%s the mean %.4g and the deviation %.4g, which adam and adamw reach slowly; "+
				"to scale them, save %s", what, mean, std, way)}
		}
	}
	return nil
}

// ToPredict says what has numbers to predict.
const ToPredict = "the numbers to predict have"

// Rounded returns an error if numbers of a column differ by no more than 32-bit floats round them.
func Rounded(what, name string, values iter.Seq[float64]) error {
	worst := 0.0
	for x := range values {
		if worst = max(worst, math.Abs(x-float64(float32(x)))); math.Abs(x) < 1 { // all keep digits, or differ by more
			return nil
		}
	}
	mean, std := moments(values)
	if rounds := std > 0 && worst >= std/4; !rounds || math.IsInf(worst, 0) { // NaN does not
		return nil
	}
	there := "%s the mean %.6g and the deviation %.4g, which 32-bit floats lose"
	way := fmt.Sprintf("save %s - %.0f", name, mean)
	return Refused(fmt.Sprintf(there, what, mean, std), "numbers of about 7 digits", way)
}

// apart returns the place of a value, below or above all others by more than these
// differ, that occurs several times, or -1.
func apart(values []float32) (place, times int) {
	for _, sign := range []float32{-1, 1} {
		most := sign * values[0]
		for _, x := range values {
			most = max(most, sign*x)
		}
		place, times = -1, 0
		high, low := float32(math.Inf(-1)), float32(math.Inf(1)) // of the others
		for i, x := range values {
			if x *= sign; x == most {
				place, times = i, times+1
			} else {
				high, low = max(high, x), min(low, x)
			}
		}
		if times > 1 && high > low && most-high > high-low {
			return place, times
		}
	}
	return -1, 0
}
