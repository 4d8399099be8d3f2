// Package naming holds the rules for what programs register by name: methods, types of
// layers, losses.
package naming

import (
	"fmt"
	"regexp"
	"strings"
)

var form = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// CheckName returns an error for a name that cannot stand in study files, tables and names
// of files; it begins with what has the name, such as "nn: loss".
func CheckName(what, name string) error {
	if !form.MatchString(name) {
		return fmt.Errorf("%s %q: a name must be lower-case letters, digits, - and _, and begin with a letter", what, name)
	}
	return nil
}

// Fits reports whether a text fits into a cell of a table of a Markdown page.
func Fits(text string) bool { return !strings.ContainsAny(text, "\n|") }

// Check returns an error for a name that CheckName refuses or a description that is empty
// or does not fit into a table.
func Check(what, name, doc string) error {
	if err := CheckName(what, name); err != nil {
		return err
	}
	if doc == "" || !Fits(doc) {
		return fmt.Errorf("%s %q: Doc must be a line without |, for it stands in tables", what, name)
	}
	return nil
}
