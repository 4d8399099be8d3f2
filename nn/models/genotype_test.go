package models

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/nn"
)

// alphasOf returns the weights of all edges of both kinds, 0 but for those set.
func alphasOf(set map[string][]float32) []nn.Tensor {
	ts := []nn.Tensor{{Name: "classifier.weight", Data: []float32{1}}}
	for _, kind := range []string{normalCell, reduceCell} {
		for node := 2; node < 6; node++ {
			for from := range node {
				name := weightsOf(kind, node, from)
				alpha := set[name]
				if alpha == nil {
					alpha = make([]float32, 8)
				}
				ts = append(ts, nn.Tensor{Name: name + ".alpha", Shape: []int{8}, Data: alpha})
			}
		}
	}
	return ts
}

// TestDerive derives cells whose edges are worked out by hand.
func TestDerive(t *testing.T) {
	ln := func(x float64) float32 { return float32(math.Log(x)) }
	g, err := Derive(alphasOf(map[string][]float32{
		// Zeros win the first edge and count in its sum: 3/(20+3+6) is less than 2/9 of the
		// third one, whose largest weight is smaller.
		"normal.node3.from0": {ln(20), ln(3), 0, 0, 0, 0, 0, 0},
		"normal.node3.from1": {0, 0, 0, 0, 0, ln(4), 0, 0},
		"normal.node3.from2": {0, 0, 0, 0, 0, 0, 0, ln(2)},
		// The same weights: the lower nodes, and the first of two operations.
		"reduce.node4.from0": {0, 0, 0, 1, 0, 0, 1, 0},
		"reduce.node4.from1": {0, 0, 0, 1, 0, 0, 1, 0},
		"reduce.node4.from3": {0, 0, 0, 1, 0, 0, 1, 0},
	}))
	if err != nil {
		t.Fatal(err)
	}
	var node3, node4 []Edge
	for _, e := range g.Normal {
		if e.Node == 3 {
			node3 = append(node3, e)
		}
	}
	for _, e := range g.Reduce {
		if e.Node == 4 {
			node4 = append(node4, e)
		}
	}
	want := []Edge{{3, 1, "sep_conv_5x5", 4.0 / 11}, {3, 2, "dil_conv_5x5", 2.0 / 9}}
	for i := range want {
		if math.Abs(node3[i].Share-want[i].Share) > 1e-6 {
			t.Errorf("a share of %v, want %v", node3[i].Share, want[i].Share)
		}
		node3[i].Share = want[i].Share
	}
	if !reflect.DeepEqual(node3, want) {
		t.Errorf("node 3 of the normal cell reads %v, want %v", node3, want)
	}
	tied := math.E / (6 + 2*math.E)
	for i, e := range node4 {
		if e.From != i || e.Operation != "skip_connect" || math.Abs(e.Share-tied) > 1e-12 {
			t.Errorf("tied edge %d is %v; want from %d by skip_connect with a share of %v", i, e, i, tied)
		}
	}
	for _, e := range g.Normal[:2] { // all of node 2 tied
		if e.Operation != "max_pool_3x3" || e.Share != 1.0/8 {
			t.Errorf("of equal operations %v was taken, want max_pool_3x3 with 1/8", e)
		}
	}
}

// TestDeriveErrors wants one line for parameters that are not those of a search.
func TestDeriveErrors(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		tensors []nn.Tensor
		want    string
	}{
		{
			[]nn.Tensor{{Name: "dense.weight"}},
			`none of the 1 parameters are weights of mixed operations (NAME.alpha); search with method "fednas"`,
		},
		{
			[]nn.Tensor{{Name: "edge.alpha", Data: make([]float32, 3)}},
			"there are weights edge.alpha, but none called normal.node2.from0.alpha; cells are derived from the model darts-cifar only",
		},
		{
			alphasOf(map[string][]float32{"reduce.node5.from4": make([]float32, 7)}),
			"reduce.node5.from4.alpha has 7 values; cells of darts-cifar have 8",
		},
		{
			alphasOf(map[string][]float32{"normal.node2.from1": {0, 0, nan, 0, 0, 0, 0, 0}}),
			"normal.node2.from1.alpha is not finite",
		},
	} {
		if _, err := Derive(c.tensors); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v\nwant %s", err, c.want)
		}
	}
	for _, c := range []struct {
		spoil func(g *Genotype)
		want  string
	}{
		{
			func(g *Genotype) { g.Reduce[0].Operation = "none" },
			`the reduce cell: node 2 reads node 0 by "none"; available: max_pool_3x3`,
		},
		{func(g *Genotype) { g.Normal[7].From = 5 }, "the normal cell: node 5 reads node 5; it must be one before it"},
		{func(g *Genotype) { g.Normal[1].From = 0 }, "the normal cell: node 2 reads node 0 twice"},
		{func(g *Genotype) { g.Normal = g.Normal[:7] }, "the normal cell: node 5 reads 1 nodes; it must be 2"},
		{func(g *Genotype) { g.Normal[0].Node = 6 }, "the normal cell: unknown node 6"},
	} {
		g := RandomGenotype(1)
		c.spoil(g)
		if _, err := g.Layers(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v\nwant %s", err, c.want)
		}
	}
}

// TestDerivedIsTheSupernet wants of a derived network what the supernet gives whose
// mixtures are all but an operation on the edges that were kept, and all but none on
// the others. The others share 1e-12, so that these are 1 in float32.
func TestDerivedIsTheSupernet(t *testing.T) {
	for key := range uint64(6) {
		g := RandomGenotype(key)
		set := map[string][]float32{}
		for kind, edges := range g.kinds() {
			for node := 2; node < 6; node++ {
				for from := range node {
					alpha := make([]float32, 8)
					at := 0
					for _, e := range *edges {
						if e.Node == node && e.From == from {
							at = slices.Index(dartsOperations, e.Operation)
						}
					}
					alpha[at] = 30
					set[weightsOf(kind, node, from)] = alpha
				}
			}
		}
		back, err := Derive(alphasOf(set))
		if err != nil {
			t.Fatal(err)
		}
		for i := range back.Normal {
			back.Normal[i].Share, back.Reduce[i].Share = 0, 0
		}
		if !reflect.DeepEqual(back, g) {
			t.Fatalf("derived %v, want %v", back, g)
		}
		layers, err := g.Layers()
		if err != nil {
			t.Fatal(err)
		}
		input := nn.Shape{H: 16, W: 16, C: 3}
		derived, err := FromLayers(layers, input, 5)
		if err != nil {
			t.Fatal(err)
		}
		super, err := New("darts-cifar", Options{Input: input, Classes: 5})
		if err != nil {
			t.Fatal(err)
		}
		w := super.NewParams()
		super.Init(w, key)
		tensors := super.Export(w)
		weights := map[string][]float32{}
		for i, p := range tensors {
			if alpha, ok := set[strings.TrimSuffix(p.Name, ".alpha")]; ok {
				copy(tensors[i].Data, alpha)
			}
			weights[p.Name] = p.Data
		}
		if err := super.Import(w, tensors); err != nil {
			t.Fatal(err)
		}
		v := derived.NewParams()
		derived.Init(v, key)
		kept := derived.Export(v)
		for i, p := range kept {
			if from, ok := weights[p.Name]; ok {
				copy(kept[i].Data, from)
			} else if !strings.HasPrefix(p.Name, "cell") || len(p.Shape) != 1 { // but what norms learn
				t.Errorf("the supernet has no %s", p.Name)
			}
		}
		if err := derived.Import(v, kept); err != nil {
			t.Fatal(err)
		}
		b := &nn.Batch{N: 4, X: make([]float32, 4*16*16*3), Labels: []int32{0, 1, 2, 3}}
		for i := range b.X {
			b.X[i] = float32(math.Sin(float64(i)))
		}
		want := super.NewWorkspace().Evaluate(w, b)
		got := derived.NewWorkspace().Evaluate(v, b)
		if math.Abs(got.Loss-want.Loss) > 1e-4*math.Abs(want.Loss) {
			t.Errorf("genotype %d: the derived network's loss is %v, the supernet's %v", key, got.Loss, want.Loss)
		}
	}
}
