package leaf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

func TestNumber(t *testing.T) {
	texts := []string{
		"0", "-0", "1", "1.0", "0.5", "123456789012345678901234567890", "9007199254740993", "1e5", "1E-7",
		"2.5e+3", "-0.0001", "0.1000000000000000055511151231257827", "4.9e-324",
	}
	for k := range 256 { // as Python writes the pixels k/255
		texts = append(texts, strconv.FormatFloat(float64(k)/255, 'g', -1, 64), fmt.Sprintf("%.17f", float64(k)/255))
	}
	for _, text := range texts {
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		got, err := newScanner(iotest.OneByteReader(strings.NewReader(" "+text+" ")), "test").number()
		if err != nil || math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%s was read as %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "-", "01,", "1.", ".5", "1e", "1e+-5", "+1", "1e999", `"1"`, "null", "[1]"} {
		if v, err := newScanner(strings.NewReader("["+text+"]"), "test").number(); err == nil {
			t.Errorf("%q was read as %v", text, v)
		}
		err := newScanner(strings.NewReader("[0,"+text+"]"), "test").numbers(func(float64) error { return nil })
		if err == nil || !strings.HasPrefix(err.Error(), "test: ") {
			t.Errorf("a list with %q: %v", text, err)
		}
	}
}

// TestWindow reads values that lie across the ends of the decoder's memory, and one that is longer than may be.
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
		if got != strings.ReplaceAll(want[n], `\"`, `"`) {
			t.Fatalf("string %d is %q", n, got)
		}
		n++
		return err
	})
	if err != nil || n != len(want) {
		t.Errorf("%d strings, %v", n, err)
	}
	for _, text := range []string{`"` + strings.Repeat("a", 2*longest), "[" + strings.Repeat("1,", longest)} {
		s := newScanner(strings.NewReader(text), "test")
		_, err := s.value(s.peek())
		if err == nil || !strings.Contains(err.Error(), "a value of more than 16777216 bytes") {
			t.Errorf("%.9q...: %v", text, err)
		}
	}
}
