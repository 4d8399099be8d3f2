package table

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// The types of columns, values of data.columns.
const (
	typeNumber   = "number"
	typeCategory = "category"
)

const (
	// fewTexts and manyRows say up to how many texts are a category: fewTexts, or one for manyRows rows.
	fewTexts = 50
	manyRows = 20
	// maxTexts is how many different texts of a column are kept.
	maxTexts = 1 << 12
	// fewNumbers is up to how many integers may be categories, and mostClasses up to how many labels are.
	fewNumbers  = 10
	mostClasses = 100
	// exact bounds integers that a float64 holds; those beyond it are ids.
	exact = 1 << 53
	// textSize is about what a text takes in memory in addition to its letters.
	textSize = 64
)

// plain writes a number, 1 for 1.0.
func plain(x float64) string { return strconv.FormatFloat(x+0, 'g', -1, 64) } // + 0 for -0

// column is a column of all files.
type column struct {
	data.Column
	cfg    *data.Config
	budget *memory.Budget
	row    string // what a row is called

	// values has the place in texts of each row's text or, once these are too many, the number that it is; NaN
	// is a missing value.
	values  []float32
	n       int // of the values that are not missing
	texts   []string
	spots   []spot // where these are first
	form    int
	doubt   bool      // another form would do, and gives others
	numbers []float64 // of the texts in this form, NaN of others
	seen    map[string]float32
	many    bool
	odd, at string // the first text that is no number, and where it is

	delimiter rune   // of the file that is read, 0 where it has none
	signs     []sign // of the files that have one
}

// spot is a place in a file.
type spot struct {
	path string
	line int
}

// spot says where a text is first.
func (c *column) spot(i int) string { return c.where(c.spots[i]) }

// where says where a spot is.
func (c *column) where(s spot) string { return fmt.Sprintf("%s %s %d", s.path, c.row, s.line) }

// missing reports whether a text stands for no value.
func (c *column) missing(text string) bool {
	if len(c.cfg.Missing) == 0 || own.IsMissing(text) {
		return own.IsMissing(text)
	}
	x, is := number(text, c.cfg.Decimal)
	return slices.ContainsFunc(c.cfg.Missing, func(m string) bool {
		y, ok := number(m, "")
		return m == text || is && ok && x == y
	})
}

// errorf is an error of the column, with what can be done about it.
func (c *column) errorf(format string, args ...any) error {
	name, ways := oneline.Name(c.Name), []string{fmt.Sprintf(format, args...)}
	if c.Name != c.cfg.LabelColumn {
		ways = append(ways, "leave it out by data.drop_columns")
	}
	if !c.many && c.cfg.Columns[c.Name] == nil {
		ways = append(ways, fmt.Sprintf("name its type, such as data.columns = { %s = \"category\" }", name))
	}
	if len(ways) > 1 {
		ways = []string{ways[0], strings.Join(ways[1:], ", or ")}
	}
	return fmt.Errorf("column %s: %s", name, strings.Join(ways, "; "))
}

// add adds the value of a row, a text or else a number, from a line of a file.
func (c *column) add(text string, x float64, path string, line int) error {
	read := !c.many || c.form == formCompact || len(c.cfg.Missing) > 0 || math.Abs(x) > math.MaxFloat32
	written := text
	if text == "" && x == x && read {
		text = plain(x)
	}
	if place, known := c.seen[text]; known {
		if c.values, c.n = append(c.values, place), c.n+1; c.spots[int(place)].path != path {
			c.look(written, path, line)
		}
		return nil
	}
	if text == "" && x != x || text != "" && c.missing(text) {
		c.values = append(c.values, float32(math.NaN()))
		return nil
	}
	c.n++
	c.look(written, path, line)
	if len(c.texts) == maxTexts && !c.many {
		c.settle()
		if c.many = true; c.odd != "" {
			return cmp.Or(c.agree(), c.mostly(),
				c.errorf("more than %d different texts, such as %q (%s)", maxTexts, c.odd, c.at))
		}
		c.seen = nil
		c.replace(c.number)
	}
	if c.many {
		is := x == x
		if text != "" {
			x, is = forms[c.form].read(text, c.cfg.Decimal)
		}
		if !is {
			return cmp.Or(c.agree(), c.errorf("%q (%s %s %d) is no number, as all before are; add it to "+
				"data.missing if it stands for no value", text, path, c.row, line))
		}
		c.values = append(c.values, float32(x))
		return c.id(text, x)
	}
	text = strings.Clone(text)
	c.seen[text] = float32(len(c.texts))
	c.values, c.texts, c.spots = append(c.values, c.seen[text]), append(c.texts, text), append(c.spots, spot{path, line})
	return c.budget.Take(textSize + int64(len(text)))
}

// replace replaces the places in texts among the values.
func (c *column) replace(by func(place int) float32) {
	for i, x := range c.values {
		if x == x {
			c.values[i] = by(int(x))
		}
	}
}

// number returns the number that a text is.
func (c *column) number(place int) float32 { return float32(c.numbers[place]) }

// mostly is the error of a column of which most values are numbers, but not all.
func (c *column) mostly() error {
	no := func(place float32) bool { return place == place && math.IsNaN(c.numbers[int(place)]) }
	rows, odd, noun := list.Count(c.values, no), []string(nil), "numbers"
	if 2*rows >= c.n {
		return nil
	}
	for i, text := range c.texts {
		if no(float32(i)) {
			odd = append(odd, fmt.Sprintf("%.40q", text))
		}
	}
	if len(odd) > 3 {
		odd = append(odd[:3], "...")
	}
	if c.form == formDayFirst || c.form == formMonthFirst {
		noun = "dates"
	}
	return c.errorf("%d of %d values are not %s: %s (%s); add them to data.missing if they stand for no value", rows, c.n,
		noun, strings.Join(odd, ", "), c.at)
}

// id is the error of integers that no float holds.
func (c *column) id(text string, x float64) error {
	if math.Abs(x) > exact && x == math.Trunc(x) {
		return c.errorf("integers such as %s are ids rather than amounts", text)
	}
	return nil
}

// sorted returns the different numbers in their order.
func (c *column) sorted() []float64 {
	numbers := list.Where(c.numbers, func(x float64) bool { return x == x })
	return slices.Compact(slices.Sorted(slices.Values(numbers)))
}

// whole reports whether all numbers are integers.
func (c *column) whole() bool {
	return !slices.ContainsFunc(c.numbers, func(x float64) bool { return x == x && x != math.Trunc(x) })
}

// rounded is the error of numbers that floats lose.
func (c *column) rounded() error {
	if c.Values != nil {
		return nil
	}
	return own.Rounded(fmt.Sprintf("column %s has", oneline.Name(c.Name)), c.Name, slices.Values(c.numbers))
}

// decide chooses the type of a column: that of data.columns, or by its values.
func (c *column) decide() error {
	c.settle()
	if err := c.agree(); err != nil {
		return err
	}
	given, is := c.cfg.Columns[c.Name]
	words := strings.SplitN(fmt.Sprint(given), " ", 2)
	wrong := fmt.Errorf("data.columns.%s = %v: must be number or category, or such as \"number 54.2 9.1\" "+
		"(mean and deviation), \"category a|b|c\" or \"date D/M/Y\" or \"date YMD\"", oneline.Name(c.Name), given)
	switch c.Gaps, c.Fixed = c.n < len(c.values), len(words) > 1; {
	case !is:
		return c.guess()
	case words[0] == typeCategory && c.Fixed:
		return c.categories(strings.Split(words[1], "|"))
	case words[0] == typeCategory:
		return c.categories(nil)
	case words[0] != typeNumber && !isDate(given):
		return wrong
	case c.odd != "":
		return fmt.Errorf("data.columns.%s = %q: %q (%s) is none; add it to data.missing if it stands for no value",
			oneline.Name(c.Name), given, c.odd, c.at)
	case isDate(given):
		c.Fixed = false
	case c.Fixed:
		if n, _ := fmt.Sscan(words[1], &c.Mean, &c.Std); n != 2 || !(c.Std > 0) || c.Mean-c.Mean+c.Std-c.Std != 0 {
			return wrong
		}
	}
	if !c.many {
		c.replace(c.number)
	}
	return nil
}

// guess chooses the type by the values.
func (c *column) guess() error {
	for i, x := range c.numbers {
		if err := c.id(c.texts[i], x); err != nil {
			return err
		}
	}
	dots := slices.IndexFunc(c.signs, func(s sign) bool { return s.is == '?' })
	point := slices.ContainsFunc(c.signs, func(s sign) bool { return s.is == '.' })
	comma := slices.IndexFunc(c.texts, func(text string) bool { return strings.Contains(text, ",") })
	switch texts := len(c.texts); {
	case c.odd == "" && c.form == formComma && !slices.ContainsFunc(c.texts, hasUnit):
		return c.errorf("%q (%s) has a decimal comma; set data.decimal = \",\"", c.texts[comma], c.spot(comma))
	case c.odd == "" && c.form >= formPoint && c.doubt:
		return c.errorf("%q (%s) has a separator of thousands or a decimal sign; set data.decimal = \".\" or \",\"",
			c.texts[max(0, comma)], c.spot(max(0, comma)))
	case c.odd == "" && c.form == formPlain && c.cfg.Decimal == "" && dots >= 0 && !point:
		return c.errorf("%q (%s) has a separator of thousands or a decimal sign; set data.decimal = \".\" or \",\"",
			c.signs[dots].text, c.where(c.signs[dots].spot))
	case c.odd == "" && !c.many:
		c.replace(c.number)
		fallthrough
	case c.odd == "":
		return nil
	case texts <= fewTexts || texts <= len(c.values)/manyRows:
		return cmp.Or(c.mostly(), c.categories(nil))
	}
	return cmp.Or(c.mostly(), c.errorf("%d different texts in %d rows, such as %q (%s)", len(c.texts), len(c.values),
		c.odd, c.at))
}

// categories numbers the values in their order; numbers, where all are, in theirs. Those given are all.
func (c *column) categories(given []string) error {
	if c.many {
		return c.errorf("more than %d different values", maxTexts)
	}
	isTruth := func(text string) bool { _, is := truth(text, ""); return is }
	words := len(c.texts) > 2 && given == nil && list.Count(c.texts, isTruth) == len(c.texts) // in several spellings
	for i, x := range c.numbers {
		if words {
			yes, _ := truth(c.texts[i], "")
			c.texts[i] = strconv.FormatBool(yes == 1)
		} else if c.odd == "" && c.form == formPlain && math.Abs(x) <= exact {
			c.texts[i] = plain(x)
		}
		if given != nil && !slices.Contains(given, c.texts[i]) {
			return fmt.Errorf("data.columns.%s: %q is not listed; list all categories", oneline.Name(c.Name), c.texts[i])
		}
	}
	if c.Values = given; given == nil {
		c.Values = slices.Compact(slices.SortedFunc(slices.Values(c.texts), func(a, b string) int {
			x, _ := number(a, "")
			y, _ := number(b, "")
			return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
		}))
	}
	if c.form = formPlain; words {
		c.form = formTruth
	}
	places := make(map[string]float32, len(c.Values))
	for i, name := range c.Values {
		places[name] = float32(i)
	}
	c.replace(func(place int) float32 { return places[c.texts[place]] })
	return nil
}

// counts reports whether the numbers of most rows are one more than those before them, from one on for each client.
func (c *column) counts(clients int) bool {
	next := 0
	for i, x := range c.values[min(1, len(c.values)):] {
		if x == c.values[i]+1 {
			next++
		}
	}
	return next >= 9 && 10*next >= 9*(len(c.values)-1) && (c.many || 10*len(c.texts)*max(1, clients) >= 9*c.n)
}

// code returns a number or a date that may stand for no value, "" if there is none.
func (c *column) code() string {
	all := c.sorted()
	last := len(all) - 1
	if c.odd != "" || c.many || last < 1 {
		return ""
	}
	_, dates := date(true)(c.texts[0], "")
	switch {
	case dates || c.form == formMonthFirst || c.form == formCompact:
		const far = 20 * 365
		if last > 1 && all[last]-all[last-1] > max(far, all[last-1]-all[0]) {
			return c.texts[slices.Index(c.numbers, all[last])]
		}
		if last > 1 && all[1]-all[0] > max(far, all[last]-all[1]) {
			return c.texts[slices.Index(c.numbers, all[0])]
		}
	case slices.Contains([]float64{-1, -9, -99, -999, -9999}, all[0]) && all[1] >= 0 && (last > 1 || all[0] < -1):
		return plain(all[0])
	case slices.Contains([]float64{99, 999, 9999, 99999}, all[last]) && all[last-1] < all[last]/2:
		return plain(all[last])
	}
	return ""
}

// constant reports whether all rows have the same value.
func (c *column) constant() bool {
	return !c.Gaps && (len(c.Values) == 1 || c.Values == nil && !c.many && len(c.sorted()) == 1)
}

// few reports whether the numbers may be categories.
func (c *column) few() bool {
	n := len(c.sorted())
	return c.whole() && n > 2 && n <= fewNumbers && 4*n <= c.n
}

// figures reports whether the categories, which are many, may be numbers or dates in a form that is not read.
func (c *column) figures() bool {
	odd := func(text string) bool { return !figure.MatchString(text) }
	return c.cfg.Columns[c.Name] == nil && len(c.Values) > fewNumbers && !slices.ContainsFunc(c.Values, odd)
}

// figure is a text that has a digit before any letter.
var figure = regexp.MustCompile(`^\P{L}*\p{Nd}`)

// coded reports whether some of the numbers have zeros before them.
func (c *column) coded() bool {
	return c.form == formPlain && slices.ContainsFunc(c.texts, code.MatchString)
}

// code is a number with zeros before it.
var code = regexp.MustCompile(`^0\d`)

// compact reports whether the numbers seem to be dates such as 20250131.
func (c *column) compact() bool {
	return c.form == formPlain && len(c.numbers) > 2 && !slices.ContainsFunc(c.numbers, func(x float64) bool {
		_, is := compact(plain(x), "")
		return !is
	})
}
