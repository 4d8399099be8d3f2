package leaf

import (
	"math"
	"testing"
)

func TestEncodings(t *testing.T) {
	leaf, fedex := encodingByName("leaf"), encodingByName("fedex")
	if leaf.vocab != 80 || fedex.vocab != 101 || encodingByName("") != nil {
		t.Errorf("vocabularies %d and %d, must be 80 and 101", leaf.vocab, fedex.vocab)
	}
	for _, tt := range []struct {
		r           rune
		leaf, fedex byte
		known       [2]bool
	}{
		{'\n', 0, 98, [2]bool{true, true}},
		{'}', 79, 94, [2]bool{true, true}},
		{'0', 11, 2, [2]bool{true, true}},
		{'\v', 79, 100, [2]bool{false, true}},
		{'\f', 79, 1, [2]bool{false, false}},
		{0, 79, 1, [2]bool{false, false}},
		{'\u00e9', 79, 1, [2]bool{false, false}},
		{math.MaxInt32, 79, 1, [2]bool{false, false}},
	} {
		l, lk := leaf.id(tt.r)
		f, fk := fedex.id(tt.r)
		if l != tt.leaf || f != tt.fedex || lk != tt.known[0] || fk != tt.known[1] {
			t.Errorf("%q: leaf %d %v, fedex %d %v; must be %+v", tt.r, l, lk, f, fk, tt)
		}
	}
}
