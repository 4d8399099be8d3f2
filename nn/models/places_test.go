package models

import (
	"slices"
	"testing"
)

// TestEachPlace compares the places that are told one parameter at a time with those of
// Model.Places.
func TestEachPlace(t *testing.T) {
	type placed struct {
		name  string
		shape []int
		at    []int32
	}
	for _, name := range []string{
		"logistic", "reddi-emnist-cnn", "fedex-char-lstm", "char-gpt", "vit-tiny",
		"mobilenet-small",
	} {
		m, err := New(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var want, got []placed
		m.Places().Each(func(name string, shape []int, at []int32) { want = append(want, placed{name, shape, at}) })
		m.EachPlace(func(name string, shape []int, at []int32) {
			got = append(got, placed{name, shape, slices.Clone(at)})
		})
		if !slices.EqualFunc(got, want, func(a, b placed) bool {
			return a.name == b.name && slices.Equal(a.shape, b.shape) && slices.Equal(a.at, b.at)
		}) {
			t.Errorf("%s: the places of %d parameters differ from those of all, %d", name, len(got), len(want))
		}
	}
}
