package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// mostX and mostY are the largest numbers of labels on the axes.
const mostX, mostY = 8, 6

// scale is an axis that is laid out: its ends and its ticks.
type scale struct {
	lo, hi float64
	log    bool
	ticks  []tick
}

// tick is a place on an axis; small ones have no label.
type tick struct {
	at    float64
	label string
	lower int // lines by which the label stands below those of others
}

// mostBeside is how many names of an axis stand in one line; more stand in several by turns, of
// about beside each.
const (
	mostBeside = 8
	beside     = 6
)

// layOut returns the scale of an axis whose values are in [lo, hi]. Its ends are
// ticks, but for the upper end of x axes.
func (a *Axis) layOut(lo, hi float64, most int) scale {
	if n := len(a.Names); n > 0 {
		s := scale{lo: 0.5, hi: float64(n) + 0.5}
		for i, name := range a.Names {
			t := tick{at: float64(i + 1), label: clean(name)}
			if n > mostBeside {
				t.lower = i % ((n + beside - 1) / beside)
			}
			s.ticks = append(s.ticks, t)
		}
		return s
	}
	if a.Log {
		return logScale(lo, hi, most)
	}
	if a.Zero {
		lo, hi = min(lo, 0), max(hi, 0)
	}
	if lo == 0 && hi == 0 {
		hi = 1
	}
	if lo == hi { // one value: room around it
		around := math.Abs(lo) / 10
		lo, hi = lo-around, hi+around
		if a.Zero {
			lo, hi = min(0, 2*lo), max(0, 2*hi)
		}
	}
	step := roundStep(hi-lo, most)
	if a.Whole {
		step = max(1, step)
	}
	s := scale{lo: step * math.Floor(lo/step), hi: step * math.Ceil(hi/step)}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-12)))
	for i := math.Round(s.lo / step); i <= math.Round(s.hi/step); i++ {
		s.ticks = append(s.ticks, tick{at: i * step, label: number(i*step, decimals)})
	}
	return s
}

// roundStep returns the smallest step of 1, 2 or 5 times a power of ten that divides a
// width into at most the given number of parts.
func roundStep(width float64, most int) float64 {
	power := math.Pow10(int(math.Floor(math.Log10(width / float64(most)))))
	for _, step := range []float64{1, 2, 5} {
		if width/(step*power) <= float64(most) {
			return step * power
		}
	}
	return 10 * power
}

// logScale lays out a logarithmic axis of values above 0: with numbers at 1, 2 and
// 5 within two decades, else at powers of ten.
func logScale(lo, hi float64, most int) scale {
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	if first == last {
		last++
	}
	s := scale{lo: math.Pow10(first), hi: math.Pow10(last), log: true}
	decades := last - first
	every := (decades + most - 1) / most
	if decades <= 2 { // the ends need not be powers of ten
		for _, m := range []float64{2, 5} {
			if m*s.lo <= lo {
				s.lo *= m
				break
			}
		}
		for _, m := range []float64{2, 5} {
			if m*math.Pow10(last-1) >= hi {
				s.hi = m * math.Pow10(last-1)
				break
			}
		}
	}
	for d := first; d <= last; d++ {
		for m := 1; m < 10; m++ {
			t := tick{at: float64(m) * math.Pow10(d)}
			if t.at < s.lo*(1-1e-12) || t.at > s.hi*(1+1e-12) {
				continue
			}
			if m == 1 && (d-first)%every == 0 || decades <= 2 && (m == 2 || m == 5) {
				t.label = number(t.at, max(0, -d))
			}
			if t.label != "" || decades <= most {
				s.ticks = append(s.ticks, t)
			}
		}
	}
	return s
}

// number formats a number with the given number of decimals and with commas between
// thousands, or as a power of ten if it is very large or small.
func number(x float64, decimals int) string {
	if math.Abs(x) >= 1e9 || decimals > 6 && x != 0 {
		return strings.Replace(strconv.FormatFloat(x, 'g', 4, 64), "e-0", "e-", 1)
	}
	whole, rest, _ := strings.Cut(strconv.FormatFloat(math.Abs(x), 'f', decimals, 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	if x < 0 {
		whole = "-" + whole
	}
	return whole
}

// checkPoints refuses points that have no place on the axes, and counts the others.
func (p *Panel) checkPoints(points []Point) (n int, err error) {
	last := math.Inf(-1)
	for _, q := range points {
		switch {
		case p.X.Names != nil && (q.X != math.Trunc(q.X) || q.X < 1 || q.X > float64(len(p.X.Names))):
			return 0, fmt.Errorf("%v is no place on the axis %q, which has %d", q.X, p.X.Label, len(p.X.Names))
		case math.IsNaN(q.Y):
			continue
		case math.IsNaN(q.X) || math.IsInf(q.X, 0) || math.IsInf(q.Y, 0):
			return 0, fmt.Errorf("the point (%v, %v) is not finite", q.X, q.Y)
		case p.X.Log && q.X <= 0:
			return 0, fmt.Errorf("%v has no place on the logarithmic axis %q: must be above 0", q.X, p.X.Label)
		case p.Y.Log && q.Y <= 0:
			return 0, fmt.Errorf("%v has no place on the logarithmic axis %q: must be above 0", q.Y, p.Y.Label)
		case q.X < last:
			return 0, fmt.Errorf("points must be sorted by x: %v stands after %v", q.X, last)
		}
		last = q.X
		n++
	}
	return n, nil
}

// clean makes one line of text that XML can hold.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r == 0x7f || r == 0xfffe || r == 0xffff:
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}
