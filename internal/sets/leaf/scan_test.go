package leaf

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

func TestNumber(t *testing.T) {
	texts := []string{"0", "-0", "1", "1.0", "0.5", "123456789012345678901234567890", "9007199254740993", "1e5", "1E-7", "2.5e+3", "-0.0001", "0.1000000000000000055511151231257827", "4.9e-324"}
	for k := range 256 { // as Python writes the pixels k/255
		texts = append(texts, strconv.FormatFloat(float64(k)/255, 'g', -1, 64), fmt.Sprintf("%.17f", float64(k)/255))
	}
	for _, text := range texts {
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		s := newScanner(iotest.OneByteReader(strings.NewReader(" "+text+",")), "test")
		got, err := s.number()
		if err != nil || math.Float64bits(got) != math.Float64bits(want) || s.peek() != ',' {
			t.Errorf("%s was read as %v, %v, then %q", text, got, err, s.peek())
		}
	}
	for _, text := range []string{"", "x", "-", "01", "1.", ".5", "1e", "1e+-5", "+1", strings.Repeat("1", 80), "1e999"} {
		if v, err := newScanner(strings.NewReader(text), "test").number(); err == nil {
			t.Errorf("%q was read as %v", text, v)
		}
	}
}

// TestWindow reads values that lie across the ends of the scanner's memory.
func TestWindow(t *testing.T) {
	var want []string
	for i := range 20_000 {
		want = append(want, strings.Repeat("ab\\\"", i%9)+strconv.Itoa(i))
	}
	text := `["` + strings.Join(want, `", "`) + `"]`
	s := newScanner(strings.NewReader(text), "test")
	n := 0
	err := s.list(func() error {
		got, err := s.str()
		if string(got) != strings.ReplaceAll(want[n], `\"`, `"`) {
			t.Fatalf("string %d is %q", n, got)
		}
		n++
		return err
	})
	if err != nil || n != len(want) {
		t.Errorf("%d strings, %v", n, err)
	}
}

// cutOff tells whether a text ends with a digit: a number there that is too large
// may be the begin of another one.
func cutOff(text string) bool { return text != "" && text[len(text)-1]-'0' < 10 }

// FuzzSkip checks that what the scanner skips as a value is what JSON calls one.
func FuzzSkip(f *testing.F) {
	for _, s := range []string{`{"a": [1, 2.5e3, "x\n", null], "b": {}}`, `[]`, `tru`, `"\ud800"`, `[1,]`, `{"a" 1}`, `-`, "\"\x01\"", `"\x"`, "1E700"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := newScanner(strings.NewReader(text), "fuzz")
		err := s.skip(0)
		ok := err == nil && s.peek() == 0 && s.pos == s.end
		// The scanner takes control characters in strings, and no number that is
		// too long or too large for a float64.
		lax := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' })
		if valid := json.Valid([]byte(text)); ok && !valid && !lax {
			t.Errorf("%q was skipped, but is no JSON", text)
		} else if !ok && valid && !strings.Contains(fmt.Sprint(err), "number") && !strings.Contains(fmt.Sprint(err), "nested") && !cutOff(text) {
			t.Errorf("%q was not skipped: %v", text, err)
		}
	})
}
