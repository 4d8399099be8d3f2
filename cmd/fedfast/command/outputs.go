package command

import (
	"fmt"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/outfile"
)

// output is a file that a flag asks for, none when the path is empty.
type output struct{ flag, path string }

// writable refuses files that could not be written in the end, before long work
// is done for them.
func writable(files []output) error {
	for _, f := range files {
		if err := outfile.File(f.path); err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	return nil
}
