package tuners

import (
	"strconv"
	"strings"
	"unicode"
)

// maxSaid is how many characters of what a tuner said an error quotes.
const maxSaid = 500

// Plain returns foreign text as a part of one line: white space becomes single
// blanks, what cannot be printed (such as the codes that move a terminal's cursor)
// is written as in Go, and what is behind the given number of characters is cut
// off.
func Plain(text string, most int) string {
	cut := false
	if limit := 8 * most; len(text) > limit { // more than those characters take, whatever they are
		text, cut = text[:limit], true
	}
	var b strings.Builder
	n, blank := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) {
			blank = true
			continue
		}
		if n++; n > most {
			cut = true
			break
		}
		if blank && b.Len() > 0 {
			b.WriteByte(' ')
		}
		blank = false
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	if cut {
		b.WriteString("...")
	}
	return b.String()
}
