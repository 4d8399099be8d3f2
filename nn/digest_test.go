package nn

import "testing"

func TestSHA256FollowsTheWeights(t *testing.T) {
	m := dropoutNet(t)
	w, same, other := m.NewParams(), m.NewParams(), m.NewParams()
	m.Init(w, 3)
	m.Init(same, 3)
	m.Init(other, 4)
	if a, b := m.SHA256(w), m.SHA256(same); a != b {
		t.Errorf("equal weights have the digests %s and %s", a, b)
	}
	if m.SHA256(w) == m.SHA256(other) {
		t.Error("two draws of weights have one digest")
	}
}
