package models_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// TestSpaceOfMBV3 counts what the spaces hold.
func TestSpaceOfMBV3(t *testing.T) {
	for _, c := range []struct {
		model                              string
		networks, choices, options, fewest int
	}{
		{"mbv3-cifar", 746_496, 16, 38, 30_186},
		{"mbv3-paper32", 1 << 12 * 2187, 19, 45, 1_022_978},
	} {
		m, err := models.New(c.model, models.Options{})
		if err != nil {
			t.Fatal(err)
		}
		networks, logits, least := 1, 0, map[string]int{}
		for _, choice := range m.Choices() {
			networks *= len(choice.Options)
			logits += len(choice.Options)
			least[choice.Name] = choice.Options[0]
		}
		if networks != c.networks || logits != c.options || len(m.Choices()) != c.choices {
			t.Errorf("%s: %d networks, %d options of %d choices", c.model, networks, logits, len(m.Choices()))
		}
		small, err := m.Sub(least)
		if err != nil {
			t.Fatal(err)
		}
		if n := small.NumParams(); n != c.fewest {
			t.Errorf("%s: the least network has %d parameters", c.model, n)
		}
		if _, err := m.Places().Of(small); err != nil {
			t.Error(err)
		}
	}
}

// TestLargestOfMBV3 compares the largest pick with the model, and rejects invalid picks.
func TestLargestOfMBV3(t *testing.T) {
	m, err := models.New("mbv3-cifar", models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := m.Sub(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := m.NewParams()
	m.Init(w, 4)
	at, err := m.Places().Of(whole)
	if err != nil {
		t.Fatal(err)
	}
	for i, from := range at {
		if from >= 0 && int(from) != i {
			t.Fatalf("parameter %d of the largest pick is the whole's %d", i, from)
		}
	}
	for _, p := range []map[string]int{{"stage1.width": 24}, {"stage5.width": 16}} {
		if _, err := m.Sub(p); err == nil || !strings.Contains(err.Error(), "mbv3-cifar") {
			t.Errorf("%v: error %v", p, err)
		}
	}
}

// TestSubNetworksAreParts compares sub-networks with what their names say of the whole
// tensors: the first channels, and the middle of a kernel.
func TestSubNetworksAreParts(t *testing.T) {
	m, err := models.New("mbv3-cifar", models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	places := m.Places()
	whole := m.NewParams()
	m.Init(whole, 9)
	of := map[string]nn.Tensor{}
	for _, x := range m.Export(whole) {
		of[x.Name] = x
	}
	r := rand.New(rand.NewPCG(1, 2))
	picks := 200
	if testing.Short() {
		picks = 20
	}
	for range picks {
		pick, sub, w := randomPart(t, m, places, whole, r)
		for _, x := range sub.Export(w) {
			big := of[x.Name]
			shape, all := fourOf(x.Shape), fourOf(big.Shape)
			dy, dx := (all[2]-shape[2])/2, (all[3]-shape[3])/2
			i := 0
			for o := range shape[0] {
				for c := range shape[1] {
					for y := range shape[2] {
						for k := range shape[3] {
							want := big.Data[((o*all[1]+c)*all[2]+y+dy)*all[3]+k+dx]
							if math.Float32bits(x.Data[i]) != math.Float32bits(want) {
								t.Fatalf("%v: %s[%d %d %d %d] is %v, the whole's is %v", pick, x.Name, o, c, y, k, x.Data[i], want)
							}
							i++
						}
					}
				}
			}
		}
	}
}

// randomPart draws a sub-network and cuts its weights out of the whole ones.
func randomPart(t *testing.T, m *nn.Model, places *nn.Places, whole []float32, r *rand.Rand) (map[string]int, *nn.Model,
	[]float32,
) {
	t.Helper()
	pick := map[string]int{}
	for _, c := range m.Choices() {
		pick[c.Name] = c.Options[r.IntN(len(c.Options))]
	}
	sub, err := m.Sub(pick)
	if err != nil {
		t.Fatal(err)
	}
	at, err := places.Of(sub)
	if err != nil {
		t.Fatal(err)
	}
	w := sub.NewParams()
	for i, from := range at {
		if from >= 0 {
			w[i] = whole[from]
		}
	}
	return pick, sub, w
}

// fourOf lengthens a shape to four dimensions.
func fourOf(shape []int) [4]int {
	four := [4]int{1, 1, 1, 1}
	copy(four[:], shape)
	return four
}
