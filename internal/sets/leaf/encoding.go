package leaf

import "strings"

// The values of data.encoding.
const (
	encodingLEAF  = "leaf"
	encodingFedEx = "fedex"
)

// encoding numbers the characters of a text.
type encoding struct {
	vocab int
	ids   [128]byte // by character
	known [128]bool
	other byte // any other character
}

// leafLetters is the table of LEAF's language_utils.py: a character's id is its
// place in it.
const leafLetters = "\n !\"&'(),-.0123456789:;>?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz}"

// printable is Python's string.printable without its last character, the form
// feed, which FedEx's encoding counts among the others.
const printable = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" +
	"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \t\n\r\v"

// encodingByName returns the encoding of a name, nil if there is none.
func encodingByName(name string) *encoding {
	switch name {
	case encodingLEAF:
		// A character that LEAF's table lacks is at place -1: its one-hot label
		// belongs to the last one.
		return newEncoding(leafLetters, 0, byte(len(leafLetters)-1))
	case encodingFedEx:
		return newEncoding(printable, 2, 1) // 0 pads
	}
	return nil
}

// newEncoding gives the characters of table the ids from first on.
func newEncoding(table string, first, other byte) *encoding {
	e := &encoding{vocab: int(first) + len(table), other: other}
	for c := range e.ids {
		i := strings.IndexByte(table, byte(c))
		e.known[c] = i >= 0
		e.ids[c] = other
		if i >= 0 {
			e.ids[c] = first + byte(i)
		}
	}
	return e
}

// id returns the id of a character; known is false if the table lacks it.
func (e *encoding) id(r rune) (id byte, known bool) {
	if r < 0 || int(r) >= len(e.ids) {
		return e.other, false
	}
	return e.ids[r], e.known[r]
}
