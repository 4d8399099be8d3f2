package table

import (
	"fmt"
	"io"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// leastPath is how many columns of a terminal the paths of a List have at least.
const leastPath = 10

// List writes rows with a head in one line each: a path, a word in the color of the row, and numbers,
// which stand on the right. A row's cell beyond the head follows its path. What does not fit the
// terminal is cut: first these and the beginnings of long paths, then the columns that may be left
// out, in their order.
func List(w io.Writer, rows [][]string, colors []screen.Color, without ...int) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = oneline.Printable(cell)
			if i < len(widths) {
				widths[i] = max(widths[i], screen.Width(row[i]))
			}
		}
		if beside := strings.Join(row[len(widths):], " "); beside != "" {
			widths[0] = max(widths[0], screen.Width(row[0]+" "+beside))
		}
	}
	used := -gap
	for _, width := range widths[1:] {
		used += gap + width
	}
	if columns := screen.Columns(w); columns > 0 {
		for len(without) > 0 && used+gap+min(widths[0], leastPath) > columns {
			used -= gap + widths[without[0]]
			widths[without[0]], without = 0, without[1:]
		}
		widths[0] = min(widths[0], max(leastPath, columns-used-gap))
	}
	var b strings.Builder
	for r, row := range rows {
		line := screen.CutFront(row[0], widths[0])
		for _, cell := range row[len(widths):] {
			if room := widths[0] - screen.Width(line); room >= min(leastPath, screen.Width(cell)+1) {
				line += screen.Cut(" "+cell, room)
			}
		}
		line += strings.Repeat(" ", widths[0]-screen.Width(line))
		for i, cell := range row[1:len(widths)] {
			space := strings.Repeat(" ", max(0, widths[i+1]-screen.Width(cell)))
			switch {
			case i == 0:
				line += "  " + screen.Paint(w, cell, colors[r]) + space
			case widths[i+1] > 0:
				line += "  " + space + cell
			}
		}
		fmt.Fprintln(&b, line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
