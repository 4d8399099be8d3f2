package result

import (
	"strings"
	"testing"
)

// TestNumbersHaveSignificantDigits writes losses and errors of any size, none of them as 0.
func TestNumbersHaveSignificantDigits(t *testing.T) {
	var got []string
	for _, x := range []float64{0, 1.23456e-7, 0.000123456, 0.5, 4.12345, 351234.5, 1.4719306e33} {
		got = append(got, Number(x))
	}
	if want := "0 1.235e-07 0.0001235 0.5 4.123 351200 1.472e+33"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}
