package shakespeare

import (
	"strings"
	"testing"
)

// FuzzRoles: any text gives roles that say no more than the text does.
func FuzzRoles(f *testing.F) {
	f.Add("ACT I. SCENE I.\n\n  ROMEO. But soft!\n    What light.\n  JULIET. Ay me!\n")
	f.Add(strings.Repeat("1601\n\nAS YOU LIKE IT\n\nby William Shakespeare\n\n\nDRAMATIS PERSONAE.\n\nACT I. SCENE I.\n  ORL. As I\n", 3))
	f.Add("\x00\xff\r\n  A. \r  \n")
	f.Fuzz(func(t *testing.T, text string) {
		total := 0
		for _, r := range Roles(text) {
			total += len(r.Text)
			if r.ID == "" {
				t.Error("a role without a name")
			}
		}
		if total > 2*len(text) {
			t.Errorf("roles say %d bytes, the text has %d", total, len(text))
		}
	})
}
