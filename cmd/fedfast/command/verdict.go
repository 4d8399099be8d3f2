package command

import (
	"fmt"
	"io"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/internal/list"
)

// printVerdict prints what is wrong with what was trained, if anything.
func printVerdict(w io.Writer, verdict []string) error {
	if len(verdict) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	lines := list.Of(verdict, func(v string) string { return "warning: " + v })
	return table.Text(w, lines...)
}
