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
	points := text
	if decimal == "," {
		points = strings.NewReplacer(".", "?", ",", ".").Replace(text)
	}
	if x, err := strconv.ParseFloat(points, 64); err == nil && !strings.ContainsAny(text, "xX_") {
		return x, math.Abs(x) <= math.MaxFloat32
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
	unit    = `(?:[\p{Sc}%]|USD|EUR|GBP|CHF|JPY|INR|CNY|CAD|AUD|BRL|SEK|NOK|DKK|PLN|Rs\.?|kr|zł)?`
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

// sign is what a text of a file tells of how the file writes numbers or dates: that '.' or ',' is its decimal sign, or
// that days ('D') or months ('M') come first. Unless it is clear, the text could be read in the other way.
type sign struct {
	is    rune
	clear bool
	text  string
	spot
}

// signOf returns the sign of a text, 0 if there is none, '?' if its dots may group thousands or be decimal. The
// delimiter of the file decides where the text does not.
func signOf(text string, delimiter rune) (is rune, clear bool) {
	i := strings.IndexAny(text, ",.-/")
	if i < 0 || i > 3 && text[i] != '.' && text[i] != ',' || !strings.ContainsRune("+-.,0123456789", rune(text[0])) {
		return 0, false
	}
	if m := moment.FindStringSubmatch(text); m != nil {
		first, _ := strconv.Atoi(m[1])
		second, _ := strconv.Atoi(m[2])
		switch {
		case len(m[1]) == 4 || max(first, second) <= 12:
			return 0, false
		case first > 12:
			return 'D', true
		}
		return 'M', true
	}
	if !strings.ContainsAny(text, ",.") {
		return 0, false
	}
	_, err := strconv.ParseFloat(text, 64)
	_, point := amount(".")(text, "")
	_, comma := amount(",")(text, "")
	switch {
	case comma && !point && err != nil:
		return ',', true
	case !comma && (point || err == nil):
		return '.', true
	case comma && delimiter == ',':
		return '.', false
	case comma && delimiter == ';' && strings.Contains(text, "."):
		return '?', false
	case comma && delimiter == ';':
		return ',', false
	}
	return 0, false
}

// look keeps the sign of a text of a file, one for each file.
func (c *column) look(text, path string, line int) {
	last := len(c.signs) - 1
	fresh := last < 0 || c.signs[last].path != path
	if !fresh && c.signs[last].clear {
		return
	}
	switch is, clear := signOf(text, c.delimiter); {
	case is == 0:
	case fresh:
		c.signs = append(c.signs, sign{is, clear, strings.Clone(text), spot{path, line}})
	case clear || c.signs[last].is == '?' && is == ',':
		c.signs[last] = sign{is, clear, strings.Clone(text), spot{path, line}}
	}
}

// agree is the error of files that write numbers or dates in other ways than others, or than data.decimal says.
func (c *column) agree() error {
	if given, _ := c.cfg.Columns[c.Name].(string); strings.HasPrefix(given, typeCategory) {
		return nil
	}
	first := map[rune]sign{}
	for _, s := range slices.Backward(c.signs) {
		first[s.is] = s
		if strings.ContainsRune(".,", s.is) && s.clear && c.cfg.Decimal != "" && c.cfg.Decimal != string(s.is) {
			return c.errorf("data.decimal = %q, but %s has %q", c.cfg.Decimal, c.where(s.spot), s.text)
		}
	}
	for pair, what := range []string{"about the decimal sign", "on day and month"} {
		a, b := first[rune(".D"[pair])], first[rune(",M"[pair])]
		if a.is != 0 && b.is != 0 {
			return c.errorf("files disagree %s: %s has %q, %s has %q; write all in one way", what, c.where(a.spot),
				a.text, c.where(b.spot), b.text)
		}
	}
	return nil
}
