package command

import (
	"fmt"
	"io"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
)

// printVerdict prints what is wrong with what was trained, if anything.
func printVerdict(w io.Writer, verdict []string) error {
	if len(verdict) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	var lines []string
	for _, v := range verdict {
		lines = append(lines, "warning: "+v)
	}
	return table.Text(w, lines...)
}
