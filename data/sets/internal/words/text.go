package words

import (
	"bytes"
	"regexp"
	"strings"
)

// A word is a run of letters, digits, underscores and apostrophes, or one of .,!?; as
// in LEAF's split_line.
var word = regexp.MustCompile(`[\p{L}\p{N}\p{M}_']+|[.,!?;]`)

// Line returns the words of a text in lower case, with spaces between.
func Line(text string) []byte {
	return []byte(strings.Join(word.FindAllString(strings.ToLower(text), -1), " "))
}

// TextSize returns the number of ids of AppendText: the padding, the words, others.
func (v *Vocabulary) TextSize() int { return int(v.other) + 1 }

// AppendText appends the row of a text, words with spaces between: the first n words,
// then padding.
func (v *Vocabulary) AppendText(rows []uint16, text []byte, n int) []uint16 {
	full := len(rows) + n
	for w := range bytes.SplitSeq(text, []byte{' '}) {
		if len(rows) == full {
			break
		}
		if len(w) == 0 {
			continue
		}
		id, known := v.ids[string(w)]
		if !known {
			id = v.other
		}
		rows = append(rows, id)
	}
	for len(rows) < full {
		rows = append(rows, 0)
	}
	return rows
}
