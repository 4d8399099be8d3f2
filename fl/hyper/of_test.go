package hyper

import (
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

// TestOf: every hyperparameter has a value as tuners have it, which Set takes back.
func TestOf(t *testing.T) {
	for _, name := range Tunable() {
		p, _ := FindTunable(name)
		h := defaults()
		v := p.Of(h)
		if v == (tuners.Value{}) {
			t.Errorf("%s has no value", name)
			continue
		}
		if err := p.Set(&h, v.Any()); err != nil || p.Of(h) != v {
			t.Errorf("%s: %v, then %v (%v)", name, v, p.Of(h), err)
		}
	}
}
