package figure

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
)

// Heat is a map of numbers by rows and columns.
type Heat struct {
	// Columns and Rows are named from left to right and from the top on. The panel's
	// axes say what they are. A row without a name parts those above from those below.
	Columns, Rows []string
	// Of describes what the numbers are.
	Of string
	// Cells are numbers by row and column, NaN for none.
	Cells [][]float64
}

func (h *Heat) check() error {
	if len(h.Rows) == 0 || len(h.Columns) == 0 {
		return errEmpty
	}
	if len(h.Cells) != len(h.Rows) {
		return fmt.Errorf("%d rows of numbers, want %d", len(h.Cells), len(h.Rows))
	}
	for i, row := range h.Cells {
		if len(row) != len(h.Columns) {
			return fmt.Errorf("row %s has %d numbers, want %d", h.Rows[i], len(row), len(h.Columns))
		}
		for _, x := range row {
			if math.IsInf(x, 0) {
				return errors.New("row " + h.Rows[i] + " holds a number that is not finite")
			}
		}
	}
	if lo, _ := h.ends(); math.IsNaN(lo) {
		return errEmpty
	}
	return nil
}

func (h *Heat) ends() (lo, hi float64) {
	return ends(slices.Concat(h.Cells...))
}

func (h *Heat) shades() int { return levels }

func (h *Heat) legend() []entry {
	lo, hi := h.ends()
	return []entry{ramp(h.Of, lo, hi)}
}

// few returns ticks for at most the given number of names, evenly spaced, each in the
// middle of its cell; if down is set, cells are counted from the other end.
func few(names []string, most int, down bool) []tick {
	every := (len(names) + most - 1) / most
	var ticks []tick
	for i := 0; i < len(names); i += every {
		at, label := float64(i)+0.5, clean(names[i])
		if label == "" {
			continue
		}
		if down { // room in front for a viewer with wider letters, such as those of DejaVu
			at, label = float64(len(names))-at, strings.Repeat("\u00a0", 2*len(label)/5)+label
		}
		ticks = append(ticks, tick{at: at, label: label})
	}
	return ticks
}

// tall reports whether the map is drawn taller, with room for each row's name: if it has
// more rows than a panel has names for, but not too many to draw.
func (h *Heat) tall() bool { return len(h.Rows) > 2*mostX && len(h.Rows) <= 64 }

func (h *Heat) scales(*Panel) (x, y scale) {
	rows := 2 * mostX
	if h.tall() {
		rows = len(h.Rows)
	}
	return scale{hi: float64(len(h.Columns)), ticks: few(h.Columns, mostX, false)}, scale{hi: float64(len(h.Rows)), ticks: few(h.Rows, rows, true)}
}

func (*Heat) labels(p *Panel) (x, y string) { return p.X.Label, p.Y.Label }

func (h *Heat) height() float64 {
	if h.tall() { // room for each row's name
		return max(panelHeight, 60+13*float64(len(h.Rows)))
	}
	return panelHeight
}

func (h *Heat) table(p *Panel) Table {
	t := Table{Title: h.Of, Head: append([]string{p.Y.Label}, h.Columns...)}
	for i, row := range h.Cells {
		if h.Rows[i] == "" { // it parts others
			continue
		}
		t.Rows = append(t.Rows, append([]string{h.Rows[i]}, list.Of(row, blank)...))
	}
	return t
}

func (h *Heat) describe(p *Panel) string {
	lo, hi := h.ends()
	return fmt.Sprintf("Heat map of %s for %d values of %s and %d of %s: from %.4g to %.4g.", h.Of, len(h.Columns), p.X.Label, len(h.Rows), p.Y.Label, lo, hi)
}

// draw draws all cells of a shade as one shape; neighbours in a row as one rectangle.
func (h *Heat) draw(s *sheet, f *plane) {
	lo, hi := h.ends()
	parts := make([][][]point, levels)
	for i, row := range h.Cells {
		top := f.y(float64(len(h.Rows) - i))
		bottom := f.y(float64(len(h.Rows) - i - 1))
		for j := 0; j < len(row); {
			from, at := j, -1
			if !math.IsNaN(row[j]) {
				at = level(row[j], lo, hi)
			}
			for j < len(row) && (at < 0 && math.IsNaN(row[j]) || at >= 0 && !math.IsNaN(row[j]) && level(row[j], lo, hi) == at) {
				j++
			}
			if at >= 0 {
				parts[at] = append(parts[at], rect{point{f.x(float64(from)), bottom}, point{f.x(float64(j)), top}}.corners())
			}
		}
	}
	for at, part := range parts {
		if len(part) > 0 {
			f.fill(s.colors.class(at, levels), part...)
		}
	}
}
