package nn

import "testing"

// unable is a layer that can be trained and nothing else, with a number for each channel.
type unable struct{ GroupNorm }

func (unable) Kind() string { return "unable" }

func (unable) Abilities() Abilities { return Abilities{} }

// wide is one that describes how it is narrowed, and nothing of its channels.
type wide struct{ unable }

func (wide) Abilities() Abilities { return Abilities{Narrow: Narrowing.Follow} }

// TestUnable refuses what a layer cannot do, in a line that names it.
func TestUnable(t *testing.T) {
	conv := Conv2D{Filters: 4, Kernel: 1}
	joined := Graph{Branches: []Branch{
		{From: []int{graphInput}, Layers: []Layer{conv}},
		{From: []int{graphInput}, Layers: []Layer{conv}},
		{From: []int{0, 1}, Join: joinConcat},
	}}
	for want, layers := range map[string][]Layer{
		"model m: layer 2 (unable): widths are not defined for a layer of this type": {
			conv,
			unable{GroupNorm{Groups: 1}},
			Dense{Units: 2},
		},
		"model m: layer 2 (residual): layer 1 (unable): widths are not defined for a layer of this type": {
			conv,
			Residual{Body: []Layer{unable{GroupNorm{Groups: 1}}}},
			Dense{Units: 2},
		},
		"model m: layer 3 (unable): it has parameters but no Blocks, so it cannot be narrowed after channels of [4 4]": {
			conv,
			joined,
			wide{unable{GroupNorm{Groups: 1}}},
			Dense{Units: 2},
		},
		"": {conv, wide{unable{GroupNorm{Groups: 1}}}, Dense{Units: 2}},
	} {
		m, err := NewModel("m", Shape{H: 2, W: 2, C: 1}, 2, layers...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Narrow(0.5)
		if got := ""; err != nil {
			if got = err.Error(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		} else if want != "" {
			t.Errorf("no error, want %s", want)
		}
	}
}
