package models

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// The kinds of cells.
const (
	normalCell = "normal"
	reduceCell = "reduce"
)

// dartsInputs are the inputs of a node of a derived cell.
const dartsInputs = 2

// alphaSuffix ends the names of the weights of mixed operations.
const alphaSuffix = ".alpha"

// Edge is one input of a node of a derived cell: Operation applied to the node From.
type Edge struct {
	// Node and From number the cell's nodes: 0 and 1 are what the cells before give, 0
	// the one before the last; 2 and on are sums.
	Node int `json:"node"`
	From int `json:"from"`
	// Operation is by DARTS' name, such as sep_conv_3x3.
	Operation string `json:"operation"`
	// Share is the operation's part of the softmax of the edge's weights, within (0, 1).
	// It is 0 for an edge that was drawn.
	Share float64 `json:"share,omitempty"`
}

// Genotype is a network of cells that was derived from a searched one: the edges of a
// normal and of a reducing cell, by node, then by what is read.
type Genotype struct {
	Normal []Edge `json:"normal"`
	Reduce []Edge `json:"reduce"`
}

// Derive makes the discrete network of a supernet darts-cifar, as DARTS does (Liu et
// al. 2019, arXiv:1806.09055, section 2.4 with k = 2): the strength of operation o on
// the edge from node i to node j is its part of the softmax over all operations, none
// included,
//
//	p_o(i,j) = exp(alpha_o(i,j)) / sum_o' exp(alpha_o'(i,j))
//
// and node j keeps the 2 nodes i whose strongest operation that is not none has the
// largest p, each by that operation. Of equal ones the first in DARTS' order is taken,
// and the lower node. Tensors are a model's parameters, of which all but NAME.alpha are
// passed over; the error of one line describes what they lack.
func Derive(tensors []nn.Tensor) (*Genotype, error) {
	alphas := map[string][]float32{}
	other := ""
	for _, t := range tensors {
		if name, ok := strings.CutSuffix(t.Name, alphaSuffix); ok {
			alphas[name] = t.Data
			other = cmp.Or(other, name)
		}
	}
	if len(alphas) == 0 {
		return nil, fmt.Errorf("none of the %d parameters are weights of mixed operations (NAME.alpha); search with method \"fednas\" and the model darts-cifar first", len(tensors))
	}
	g := &Genotype{}
	for kind, edges := range g.kinds() {
		for node := 2; node < 2+dartsNodes; node++ {
			var candidates []Edge
			for from := range node {
				name := weightsOf(kind, node, from)
				alpha, ok := alphas[name]
				switch {
				case !ok:
					return nil, fmt.Errorf("there are weights %s.alpha, but none called %s.alpha; cells are derived from the model darts-cifar only", other, name)
				case len(alpha) != len(dartsOperations):
					return nil, fmt.Errorf("%s.alpha has %d values; cells of darts-cifar have %d, one an operation", name, len(alpha), len(dartsOperations))
				case slices.ContainsFunc(alpha, func(a float32) bool { return math.IsNaN(float64(a)) || math.IsInf(float64(a), 0) }):
					return nil, fmt.Errorf("%s.alpha is not finite", name)
				}
				op, share := strongest(alpha)
				candidates = append(candidates, Edge{node, from, op, share})
			}
			slices.SortStableFunc(candidates, func(a, b Edge) int { return cmp.Compare(b.Share, a.Share) })
			*edges = append(*edges, inOrder(candidates[:dartsInputs])...)
		}
	}
	return g, nil
}

// strongest returns the operation with the largest part of the softmax of alpha, none
// left out, and that part.
func strongest(alpha []float32) (op string, share float64) {
	best, sum := 1, 0.0
	for k := 2; k < len(alpha); k++ {
		if alpha[k] > alpha[best] {
			best = k
		}
	}
	most := float64(slices.Max(alpha))
	for _, a := range alpha {
		sum += det.Exp(float64(a) - most)
	}
	return dartsOperations[best], det.Exp(float64(alpha[best])-most) / sum
}

func inOrder(edges []Edge) []Edge {
	slices.SortFunc(edges, func(a, b Edge) int { return a.From - b.From })
	return edges
}

// RandomGenotype draws one by a key, the control of a search: each node reads two
// nodes before it, each by an operation but none, all equally likely.
func RandomGenotype(key uint64) *Genotype {
	g, s := &Genotype{}, kernels.NewStream(key, 0)
	for _, edges := range g.kinds() {
		for node := 2; node < 2+dartsNodes; node++ {
			first, second := s.IntN(node), s.IntN(node-1)
			if second >= first {
				second++
			}
			var drawn []Edge
			for _, from := range []int{first, second} {
				drawn = append(drawn, Edge{Node: node, From: from, Operation: dartsOperations[1+s.IntN(len(dartsOperations)-1)]})
			}
			*edges = append(*edges, inOrder(drawn)...)
		}
	}
	return g
}

// kinds yields both kinds of cells and their edges, in order.
func (g *Genotype) kinds() iter.Seq2[string, *[]Edge] {
	return func(yield func(string, *[]Edge) bool) {
		_ = yield(normalCell, &g.Normal) && yield(reduceCell, &g.Reduce)
	}
}

// Layers returns the network of the genotype's cells: darts-cifar with, instead of
// mixtures, the operations that were kept, and with normalisations that learn, as DARTS
// trains what it derived. The error names an edge that no such cell has.
func (g *Genotype) Layers() ([]LayerSpec, error) {
	for kind, edges := range g.kinds() {
		if err := checkEdges(*edges); err != nil {
			return nil, fmt.Errorf("the %s cell: %w", kind, err)
		}
	}
	return cells(func(c cell, node int) []LayerSpec {
		edges := g.Normal
		if c.kind == reduceCell {
			edges = g.Reduce
		}
		sum := LayerSpec{Type: add, Name: c.node(node)}
		var specs []LayerSpec
		for _, e := range edges {
			if e.Node == node {
				layers, end := c.operation(e.Operation, node, e.From)
				specs, sum.Inputs = append(specs, layers...), append(sum.Inputs, end)
			}
		}
		return append(specs, sum)
	}, true), nil
}

// checkEdges checks those of one cell.
func checkEdges(edges []Edge) error {
	read := map[int][]int{}
	for _, e := range edges {
		switch {
		case e.Node < 2 || e.Node >= 2+dartsNodes:
			return fmt.Errorf("unknown node %d: must be from 2 to %d", e.Node, 1+dartsNodes)
		case e.From < 0 || e.From >= e.Node:
			return fmt.Errorf("node %d reads node %d; it must be one before it", e.Node, e.From)
		case slices.Contains(read[e.Node], e.From):
			return fmt.Errorf("node %d reads node %d twice", e.Node, e.From)
		case !slices.Contains(dartsOperations[1:], e.Operation):
			return fmt.Errorf("node %d reads node %d by %q; available: %s", e.Node, e.From, e.Operation, strings.Join(dartsOperations[1:], ", "))
		}
		read[e.Node] = append(read[e.Node], e.From)
	}
	for node := 2; node < 2+dartsNodes; node++ {
		if len(read[node]) != dartsInputs {
			return fmt.Errorf("node %d reads %d nodes; it must be %d", node, len(read[node]), dartsInputs)
		}
	}
	if !slices.Contains(read[2], 0) || !slices.Contains(read[2], 1) {
		return errors.New("node 2 must read the nodes 0 and 1")
	}
	return nil
}
