package table

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/data"
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

// number returns the number that a text is, with a decimal sign, or the days since 1970 of a date.
func number(text, decimal string) (x float64, ok bool) {
	if text == "" || !strings.ContainsRune("+-.,0123456789", rune(text[0])) {
		return 0, false
	}
	if decimal == "," {
		text = strings.NewReplacer(".", "?", ",", ".").Replace(text)
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil && !strings.ContainsAny(text, "xX_") {
		return x, math.Abs(x) <= math.MaxFloat32
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return float64(t.Unix()) / (24 * 60 * 60), true
		}
	}
	return 0, false
}

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
	numbers []float64 // of the texts, NaN of others
	seen    map[string]float32
	many    bool
	odd, at string // the first text that is no number, and where it is
}

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
	name := oneline.Name(c.Name)
	return fmt.Errorf("column %s: %s; leave it out by data.drop_columns, or name its type, such as "+
		"data.columns = { %s = \"category\" }", name, fmt.Sprintf(format, args...), name)
}

// add adds the value of a row, a text or else a number, from a line of a file.
func (c *column) add(text string, x float64, path string, line int) error {
	if text == "" && x == x && (!c.many || len(c.cfg.Missing) > 0 || math.Abs(x) > math.MaxFloat32) {
		text = plain(x)
	}
	if place, known := c.seen[text]; known {
		c.values, c.n = append(c.values, place), c.n+1
		return nil
	}
	if text == "" && x != x || text != "" && c.missing(text) {
		c.values = append(c.values, float32(math.NaN()))
		return nil
	}
	c.n++
	if text != "" {
		var ok bool
		if x, ok = number(text, c.cfg.Decimal); !ok {
			if x = math.NaN(); c.odd == "" {
				c.odd, c.at = strings.Clone(text), fmt.Sprintf("%s %s %d", path, c.row, line)
			}
		}
	}
	if len(c.texts) == maxTexts && !c.many {
		c.many, c.seen = true, nil
		c.replace(c.number)
	}
	if c.many {
		c.values = append(c.values, float32(x))
		return cmp.Or(c.id(text, x), c.words())
	}
	text = strings.Clone(text)
	c.seen[text] = float32(len(c.texts))
	c.values, c.texts, c.numbers = append(c.values, c.seen[text]), append(c.texts, text), append(c.numbers, x)
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

// words is the error of too many texts that are no numbers.
func (c *column) words() error {
	if c.many && c.odd != "" {
		return c.errorf("more than %d different texts, such as %q (%s)", maxTexts, c.odd, c.at)
	}
	return nil
}

// id is the error of integers that no float holds.
func (c *column) id(text string, x float64) error {
	if math.Abs(x) > exact && x == math.Trunc(x) {
		return c.errorf("integers such as %s are ids rather than amounts", text)
	}
	return nil
}

// sorted returns the different numbers in their order.
func (c *column) sorted() []float64 { return slices.Compact(slices.Sorted(slices.Values(c.numbers))) }

// whole reports whether all texts are integers.
func (c *column) whole() bool {
	return !slices.ContainsFunc(c.numbers, func(x float64) bool { return x != math.Trunc(x) })
}

// decide chooses the type of a column: that of data.columns, or by its values.
func (c *column) decide() error {
	given, is := c.cfg.Columns[c.Name]
	words := strings.SplitN(fmt.Sprint(given), " ", 2)
	wrong := fmt.Errorf("data.columns.%s = %v: must be number or category, or such as \"number 54.2 9.1\" "+
		"(mean and deviation) or \"category a|b|c\"", oneline.Name(c.Name), given)
	switch c.Gaps, c.Fixed = c.n < len(c.values), len(words) > 1; {
	case !is:
		return c.guess()
	case words[0] == typeNumber && c.odd != "":
		return fmt.Errorf("data.columns.%s = %q: %q (%s) is none; add it to data.missing if it stands for no value",
			oneline.Name(c.Name), given, c.odd, c.at)
	case words[0] == typeNumber && c.Fixed:
		if n, _ := fmt.Sscan(words[1], &c.Mean, &c.Std); n != 2 || !(c.Std > 0) || c.Mean-c.Mean+c.Std-c.Std != 0 {
			return wrong
		}
	case words[0] == typeCategory && c.Fixed:
		return c.categories(strings.Split(words[1], "|"))
	case words[0] == typeCategory:
		return c.categories(nil)
	case words[0] != typeNumber:
		return wrong
	}
	if !c.many {
		c.replace(c.number)
	}
	return nil
}

// thousands are numbers that may have separators of thousands.
var thousands = regexp.MustCompile(`^-?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$`)

// guess chooses the type by the values.
func (c *column) guess() error {
	texts, odd := len(c.texts), 0
	for i, x := range c.numbers {
		if x != x {
			odd++
		} else if err := c.id(c.texts[i], x); err != nil {
			return err
		}
	}
	_, comma := number(c.odd, ",")
	switch {
	case c.odd == "" && !c.many:
		c.replace(c.number)
		fallthrough
	case c.odd == "":
		return nil
	case thousands.MatchString(c.odd):
		return c.errorf("%q (%s) has separators of thousands; write numbers without them (pandas: thousands=%q), or set "+
			"data.decimal = \",\" if it is a decimal comma", c.odd, c.at, ",")
	case comma:
		return c.errorf("%q (%s) has a decimal comma; set data.decimal = \",\"", c.odd, c.at)
	case texts <= fewTexts || texts <= len(c.values)/manyRows:
		return c.categories(nil)
	case 2*odd < texts:
		return c.errorf("%d of %d different texts are numbers, but not %q (%s); add it to data.missing if it stands for "+
			"no value", texts-odd, texts, c.odd, c.at)
	}
	return c.errorf("%d different texts in %d rows, such as %q (%s)", texts, len(c.values), c.odd, c.at)
}

// categories numbers the values in their order; numbers, where all are, in theirs. Those given are all.
func (c *column) categories(given []string) error {
	if c.many {
		return c.errorf("more than %d different values", maxTexts)
	}
	for i, x := range c.numbers {
		if c.odd == "" && math.Abs(x) <= exact {
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
	places := make(map[string]float32, len(c.Values))
	for i, name := range c.Values {
		places[name] = float32(i)
	}
	c.replace(func(place int) float32 { return places[c.texts[place]] })
	return nil
}

// counts reports whether the numbers of most rows are one more than those before them.
func (c *column) counts() bool {
	next := 0
	for i, x := range c.values[min(1, len(c.values)):] {
		if x == c.values[i]+1 {
			next++
		}
	}
	return next >= 9 && 10*next >= 9*(len(c.values)-1)
}

// code returns a number that may stand for no value, 0 if there is none.
func (c *column) code() float64 {
	switch all := c.sorted(); {
	case c.odd != "" || c.many || len(all) < 3:
	case slices.Contains([]float64{-1, -9, -99, -999, -9999}, all[0]) && all[1] >= 0:
		return all[0]
	case slices.Contains([]float64{99, 999, 9999, 99999}, all[len(all)-1]) && all[len(all)-2] < all[len(all)-1]/2:
		return all[len(all)-1]
	}
	return 0
}
