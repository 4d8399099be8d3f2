package data

import (
	"testing"
)

// TestFingerprintSamples: of many examples only some are looked at, from all of
// the views; a lazy set's are not.
func TestFingerprintSamples(t *testing.T) {
	const n = 3 * fingerprintExamples
	sets := func(changed int) []Examples {
		values := make([]float32, n)
		if changed >= 0 {
			values[changed] = 1
		}
		src := &vectors{n: 1, values: values, labels: make([]int32, n)}
		return []Examples{
			{Client: "a", Train: span(src, 0, 7), Test: span(src, 7, 1)},
			{Client: "b", Train: span(src, 8, n/2), Test: span(src, 8+n/2, n-8-n/2)},
		}
	}
	want := mustFingerprint(t, sets(-1), false)
	seen := 0
	for _, at := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, n - 3, n - 2, n - 1} {
		differs := mustFingerprint(t, sets(at), false) != want
		if differs != (at%3 == 0) {
			t.Errorf("a change of sample %d is seen: %v", at, differs)
		}
		if differs {
			seen++
		}
	}
	if seen != 5 {
		t.Errorf("%d changes seen, must be 5", seen)
	}
	if mustFingerprint(t, sets(0), true) != mustFingerprint(t, sets(-1), true) {
		t.Error("the samples of a lazy set were read")
	}
	moved := sets(-1)
	moved[0].Client = "A"
	if mustFingerprint(t, moved, true) == mustFingerprint(t, sets(-1), true) {
		t.Error("a client of another name has the same fingerprint")
	}
}

func mustFingerprint(t *testing.T, writers []Examples, lazy bool) string {
	t.Helper()
	sum, err := fingerprint(writers, lazy)
	must(t, err)
	return sum
}
