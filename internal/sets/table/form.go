package table

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/internal/list"
)

// The forms in which texts are numbers, in the order in which they are tried, formCompact if asked for.
// The four before it are two pairs of readings.
const (
	formPlain = iota
	formTruth
	formDayFirst
	formMonthFirst
	formPoint
	formComma
	formCompact
)

// forms have the types of data.columns that ask for a form, how notes call it, and how it is read.
var forms = []struct {
	kind, says string
	read       func(text, decimal string) (x float64, ok bool)
}{
	formPlain:      {typeNumber, "", number},
	formTruth:      {typeNumber, "numbers, 1 for yes and 0 for no", truth},
	formDayFirst:   {"date D/M/Y", "dates, day before month", date(true)},
	formMonthFirst: {"date M/D/Y", "dates, month before day", date(false)},
	formPoint:      {typeNumber, "amounts", amount(".")},
	formComma:      {typeNumber, "amounts with decimal commas", amount(",")},
	formCompact:    {"date YMD", "dates as YYYYMMDD", compact},
}

// number returns the number that a text is, with a decimal sign, or the days since 1970 of a date, year first.
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
	if decimal == "," {
		text = strings.NewReplacer("?", ".", ".", ",").Replace(text)
	}
	if len(text) > 4 && strings.ContainsRune("-/.", rune(text[4])) {
		return date(true)(text, "")
	}
	return 0, false
}

// moment is a date, perhaps with a time of day and a time zone.
var moment = regexp.MustCompile(`^(\d{4}|\d{1,2})[-./](\d{1,2})[-./](\d{4}|\d{1,2})` +
	`(?:[T ] *(\d{1,2}:\d{2})(:\d{2}(?:\.\d+)?)?(?: ?([AaPp][Mm]))?)? ?(?:Z|UTC|GMT|([-+]\d{2}):?(\d{2})?)?$`)

// date returns what reads the days since 1970 of a date whose year has four digits.
func date(dayFirst bool) func(text, _ string) (days float64, ok bool) {
	return func(text, _ string) (days float64, ok bool) {
		m := moment.FindStringSubmatch(text)
		if m == nil {
			return 0, false
		}
		year, month, day := m[1], m[2], m[3]
		if len(year) < 4 {
			day, year = year, day
			if !dayFirst {
				day, month = month, day
			}
		}
		layout, clock := "2006-1-2 15:04:05", cmp.Or(m[4], "0:00")+cmp.Or(m[5], ":00")
		if m[6] != "" {
			layout, clock = "2006-1-2 3:04:05PM", clock+strings.ToUpper(m[6])
		}
		clock += cmp.Or(m[7], "+00") + cmp.Or(m[8], "00")
		t, err := time.Parse(layout+"-0700", year+"-"+month+"-"+day+" "+clock)
		return float64(t.Unix()) / (24 * 60 * 60), err == nil
	}
}

// compact returns the days since 1970 of a date such as 20250131.
func compact(text, decimal string) (days float64, ok bool) {
	x, ok := number(text, decimal)
	t, err := time.Parse("20060102", strconv.FormatFloat(x, 'f', -1, 64))
	if ok = ok && err == nil && t.Year() >= 1900 && t.Year() <= 2100; !ok {
		return 0, false
	}
	return float64(t.Unix()) / (24 * 60 * 60), true
}

// An amount is a number with a unit and separators of thousands.
var (
	unit    = `(?:[$€£¥%]|USD|EUR|GBP|CHF|JPY)?`
	space   = `[\s\x{a0}\x{202f}]*`
	money   = regexp.MustCompile(`^([-+]?)` + unit + space + `([-+]?)([\d.,].*?)` + space + unit + `$`)
	grouped = map[string]*regexp.Regexp{
		".": regexp.MustCompile(`^(?:\d*|[1-9]\d{0,2}(?:[,'’_ \x{a0}\x{202f}]\d{3})+)(?:\.\d*)?$`),
		",": regexp.MustCompile(`^(?:\d*|[1-9]\d{0,2}(?:[.'’_ \x{a0}\x{202f}]\d{3})+)(?:,\d*)?$`),
	}
	bare = regexp.MustCompile(`^[-+]?\d*,?\d*$`)
)

// hasUnit reports whether an amount is more than digits with a comma.
func hasUnit(text string) bool { return !bare.MatchString(text) }

// amount returns what reads amounts with a decimal sign.
func amount(decimal string) func(text, _ string) (x float64, ok bool) {
	return func(text, _ string) (x float64, ok bool) {
		m := money.FindStringSubmatch(text)
		if m == nil || !grouped[decimal].MatchString(m[3]) {
			return 0, false
		}
		digits := strings.Map(func(r rune) rune {
			switch {
			case string(r) == decimal:
				return '.'
			case r < '0' || r > '9':
				return -1
			}
			return r
		}, m[3])
		x, err := strconv.ParseFloat(m[1]+m[2]+digits, 64)
		return x, err == nil && math.Abs(x) <= math.MaxFloat32
	}
}

// truth returns 1 for a word that says yes, 0 for one that says no.
func truth(text, _ string) (x float64, ok bool) {
	text = strings.ToLower(text)
	if slices.Contains([]string{"yes", "true", "t", "y"}, text) {
		return 1, true
	}
	return 0, slices.Contains([]string{"no", "false", "f", "n"}, text)
}

// isDate reports whether a type of data.columns is a date with an order of day and month.
func isDate(given any) bool {
	return slices.ContainsFunc([]int{formDayFirst, formMonthFirst, formCompact}, func(form int) bool {
		return given == forms[form].kind
	})
}

// may reports whether data.columns and data.decimal allow a form.
func (c *column) may(form int) bool {
	given, is := c.cfg.Columns[c.Name].(string)
	switch {
	case isDate(given):
		return forms[form].kind == given
	case strings.HasPrefix(given, typeCategory):
		return form == formPlain
	case form == formPoint && c.cfg.Decimal == ",", form == formComma && c.cfg.Decimal == ".":
		return false
	}
	return form != formCompact && (is || form != formTruth)
}

// settle chooses the form in which most of the texts are numbers, of equal ones the first.
func (c *column) settle() {
	if c.many {
		return
	}
	tried, best := make([][]float64, len(forms)+1), -1
	for i := range forms {
		if !c.may(i) || c.form == formPlain && best == len(c.texts) {
			continue
		}
		n := 0
		tried[i] = list.Of(c.texts, func(text string) float64 {
			x, ok := forms[i].read(text, c.cfg.Decimal)
			if !ok {
				return math.NaN()
			}
			n++
			return x
		})
		if n > best {
			c.form, best = i, n
		}
	}
	if other := tried[c.form^1]; c.form > formTruth && best == len(c.texts) && other != nil {
		c.doubt = !slices.ContainsFunc(other, math.IsNaN) && !slices.Equal(tried[c.form], other)
	}
	if c.doubt && c.form == formDayFirst && !strings.Contains(c.texts[0], ".") {
		c.form = formMonthFirst
	}
	c.numbers = tried[c.form]
	if i := slices.IndexFunc(c.numbers, math.IsNaN); i >= 0 {
		c.odd, c.at = c.texts[i], c.spot(i)
	}
}
