package data

import (
	"testing"
)

func TestKind(t *testing.T) {
	for k, want := range map[Kind]string{Image: "image", Tokens: "tokens", Vector: "vector", 9: "unknown kind"} {
		if k.String() != want {
			t.Errorf("kind %d is %q, must be %q", k, k, want)
		}
	}
}
