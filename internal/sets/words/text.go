package words

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns the words of a text in lower case, with spaces between. A word is a run
// of letters, digits, underscores and apostrophes, or one of .,!?; as in LEAF's
// split_line, or with symbols one such as an emoji.
func Line(text []byte, symbols bool) []byte {
	line := make([]byte, 0, len(text))
	within := false // a word
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		r = unicode.ToLower(r)
		if symbols && r == '\ufe0f' {
			continue // of an emoji
		}
		part := r == '_' || r == '\'' || unicode.In(r, unicode.L, unicode.N, unicode.M)
		sign := symbols && !part && r != utf8.RuneError && unicode.Is(unicode.So, r)
		if !part && !sign && !strings.ContainsRune(".,!?;", r) {
			within = false
			continue
		}
		if (!part || !within) && len(line) > 0 {
			line = append(line, ' ')
		}
		line, within = utf8.AppendRune(line, r), part
	}
	return line
}

// unspaced are the scripts that are written without spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// isUnspaced reports whether a letter is of one of these scripts, of which Thai comes first.
func isUnspaced(r rune) bool { return r >= '\u0e00' && unicode.In(r, unspaced...) }

// Apart puts spaces around each letter, with its marks, of scripts that are written
// without them, so that these letters are words.
func Apart(text []byte) []byte {
	if !bytes.ContainsFunc(text, isUnspaced) {
		return text
	}
	var out []byte
	within := false // a letter of such a script
	for _, r := range string(text) {
		if !unicode.Is(unicode.M, r) {
			now := isUnspaced(r) || r == 'ー' && within
			if now || within {
				out = append(out, ' ')
			}
			within = now
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// TextSize returns the number of ids of AppendText: the padding, the words, others.
func (v *Vocabulary) TextSize() int { return int(v.other) + 1 }

// AppendText appends the row of a text, words with spaces between: the first n words,
// then padding.
func (v *Vocabulary) AppendText(rows []uint16, text []byte, n int) []uint16 {
	full := len(rows) + n
	rows = v.appendWords(rows, text, full)
	return append(rows, make([]uint16, full-len(rows))...)
}

// appendWords appends words with spaces between, until there are full ids.
func (v *Vocabulary) appendWords(rows []uint16, text []byte, full int) []uint16 {
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
	return rows
}
