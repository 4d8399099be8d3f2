package command

import (
	"io"
	"strings"
	"testing"
)

// TestActingNamesCommands: the table names commands and global flags that there are.
func TestActingNamesCommands(t *testing.T) {
	root := (&app{out: io.Discard, err: io.Discard}).root()
	for path, flags := range acting {
		if c, _, err := root.Find(strings.Fields(path)); err != nil || c.CommandPath() != "fedfast "+path {
			t.Errorf("there is no command %q", path)
		}
		for _, f := range flags {
			if root.PersistentFlags().Lookup(f) == nil {
				t.Errorf("%s: there is no global flag %q", path, f)
			}
		}
	}
	for _, g := range helpGroups {
		for _, name := range g.commands {
			if c, _, err := root.Find([]string{name}); err != nil || c.Name() != name {
				t.Errorf("there is no command %q", name)
			}
		}
	}
}
