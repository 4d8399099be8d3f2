package shakespeare

import (
	"slices"
	"strings"
	"testing"
)

// etext is a text with the odd places of the etext: a first work whose head is
// skipped, a play, the play that is not indented, and a "play" with one role.
const etext = `The first line counts not at all
                     1609
THE SONNETS
by William Shakespeare
  POET. this is not a speech of a play
                     1604

THE FIRST PLAY, OR: NOT

by William Shakespeare


SCENE I
  Bernardo. Who's  there?
    Nay,   answer me.
 [Enter a ghost]
    Stand.
  SIR TOBY. One
  Sir Toby. two
    three
   four blanks are needed
  KING.no blank, no speech
  GHOST. Boo
    boo
THE COMEDY OF ERRORS

by William Shakespeare

ACT I. SCENE 1
AEGEON. Proceed, Solinus,
to procure my fall

ACT II. SCENE 2
nobody speaks
DUKE. Merchant of Syracusa,
plead no more.
<a stage direction ends the speech
lost
AEGEON. Yet this my comfort
THE BOOK OF NOBODY
of no blank line above

by William Shakespeare
  ALONE. One
    two
    three
`

func TestRoles(t *testing.T) {
	want := []Role{
		{
			ID: "THE_FIRST_PLAY__OR__NOT_BERNARDO", Play: "THE FIRST PLAY, OR: NOT", Lines: 3,
			Text: "Who's there? Nay, answer me. Stand. ",
		},
		{ID: "THE_FIRST_PLAY__OR__NOT_SIR_TOBY", Play: "THE FIRST PLAY, OR: NOT", Lines: 3, Text: "One two three "},
		{ID: "THE_FIRST_PLAY__OR__NOT_GHOST", Play: "THE FIRST PLAY, OR: NOT", Lines: 2},
		// Lines that are not indented count, blank ones too.
		{
			ID: "THE_COMEDY_OF_ERRORS_AEGEON", Play: "THE COMEDY OF ERRORS", Lines: 7,
			Text: "Proceed, Solinus, to procure my fall Yet this my comfort THE BOOK OF NOBODY of no blank line above ",
		},
		{ID: "THE_COMEDY_OF_ERRORS_DUKE", Play: "THE COMEDY OF ERRORS", Lines: 2},
	}
	for _, text := range []string{etext, strings.ReplaceAll(etext, "\n", "\r\n")} {
		if got := Roles(text); !slices.Equal(got, want) {
			t.Errorf("roles\n%+v\nmust be\n%+v", got, want)
		}
	}
}

func TestRolesOfNoPlays(t *testing.T) {
	for _, text := range []string{
		"", "\n", "one line", "by William Shakespeare",
		"\nby William Shakespeare\nby William Shakespeare\n  A. b\n  C. d\n",
	} {
		for _, r := range Roles(text) {
			if r.Text != "" {
				t.Errorf("%q: role %+v", text, r)
			}
		}
	}
}

// TestSplit compares with the lines that Python's str.splitlines gives.
func TestSplit(t *testing.T) {
	got := split("a\r\nb\rc\n\nd\fe\x1cf\u2028g\u0085h")
	if want := []string{"a", "b", "c", "", "d\f", "e\x1c", "f\u2028", "g\u0085", "h"}; !slices.Equal(got, want) {
		t.Errorf("lines %q, must be %q", got, want)
	}
}
