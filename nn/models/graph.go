package models

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/nn"
)

// The types that join what several layers give.
const (
	add      = "add"
	concat   = "concat"
	multiply = "multiply"
	mix      = "mix"
)

// inputName stands for what the first layer reads.
const inputName = "input"

var layerName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)

func (s LayerSpec) joins() bool {
	return s.Type == add || s.Type == concat || s.Type == mix || s.Type == multiply
}

// branched reports whether a list of layers is no chain.
func branched(specs []LayerSpec) bool {
	return slices.ContainsFunc(specs, func(s LayerSpec) bool { return s.joins() || s.Input != "" || len(s.Inputs) > 0 })
}

// label names layer i in messages.
func label(specs []LayerSpec, i int) string {
	if specs[i].Name != "" {
		return fmt.Sprintf("%q", specs[i].Name)
	}
	return fmt.Sprintf("layer %d (%s)", i+1, specs[i].Type)
}

// sources returns, for each of the layers, the numbers of those that it reads, -1 for
// the input of them all. The error says where, and what would be right.
func sources(specs []LayerSpec) ([][]int, error) {
	numbers, names := map[string]int{inputName: -1}, []string{}
	for i, s := range specs {
		if s.Name == "" {
			continue
		}
		_, twice := numbers[s.Name]
		switch {
		case s.Name == inputName:
			return nil, fmt.Errorf("layer %d (%s): name = %q is what the first layer reads; choose another one", i+1, s.Type, inputName)
		case twice:
			return nil, fmt.Errorf("layer %d (%s): name = %q is taken by an earlier layer; choose another one", i+1, s.Type, s.Name)
		case !layerName.MatchString(s.Name):
			return nil, fmt.Errorf("layer %d (%s): name = %q; it must be of letters, digits, _, - and single dots within, and begin with a letter or _", i+1, s.Type, s.Name)
		}
		numbers[s.Name] = i
		names = append(names, s.Name)
	}
	reads := make([][]int, len(specs))
	for i, s := range specs {
		from := s.Inputs
		if s.Input != "" {
			from = []string{s.Input}
		}
		if len(from) == 0 {
			reads[i] = []int{i - 1}
		}
		for k, name := range from {
			n, ok := numbers[name]
			switch {
			case !ok:
				return nil, fmt.Errorf("layer %d (%s): it reads %q, which is not the name of a layer; the names are %s", i+1, s.Type, name, strings.Join(append(names, inputName), ", "))
			case slices.Contains(from[:k], name):
				return nil, fmt.Errorf("layer %d (%s): inputs names %q twice", i+1, s.Type, name)
			case n == len(specs)-1:
				return nil, fmt.Errorf("layer %d (%s): it reads %s, the last layer, whose output is the network's only", i+1, s.Type, label(specs, n))
			}
			reads[i] = append(reads[i], n)
		}
	}
	for i := range len(specs) - 1 {
		if !slices.ContainsFunc(reads, func(from []int) bool { return slices.Contains(from, i) }) {
			return nil, fmt.Errorf("layer %d (%s): no layer reads its output; name it in input or inputs of another layer, or remove it", i+1, specs[i].Type)
		}
	}
	return reads, nil
}

// sorted returns the layers in an order in which each comes after those that it
// reads, else as they stand.
func sorted(specs []LayerSpec, reads [][]int) ([]int, error) {
	var order []int
	placed := map[int]bool{-1: true}
	waits := func(i int) bool {
		return slices.ContainsFunc(reads[i], func(from int) bool { return !placed[from] })
	}
	for len(order) < len(specs) {
		next := -1
		for i := range specs {
			if !placed[i] && !waits(i) {
				next = i
				break
			}
		}
		if next < 0 {
			return nil, cycle(specs, reads, placed)
		}
		placed[next] = true
		order = append(order, next)
	}
	return order, nil
}

// cycle describes one among the layers that cannot be placed.
func cycle(specs []LayerSpec, reads [][]int, placed map[int]bool) error {
	i := 0
	for placed[i] {
		i++
	}
	var way []int
	for !slices.Contains(way, i) {
		way = append(way, i)
		i = reads[i][slices.IndexFunc(reads[i], func(from int) bool { return !placed[from] })]
	}
	way = way[slices.Index(way, i):]
	var reading []string
	for k := range way {
		reading = append(reading, " reads "+label(specs, way[(k+1)%len(way)]))
	}
	return errors.New(label(specs, i) + strings.Join(reading, ", which") + ": layers must not form a cycle")
}

// graph makes the layers of specs that were checked and are no chain: layers one
// after the other where all goes through one of them, and nn.Graph between.
func graph(specs []LayerSpec) []nn.Layer {
	reads, err := sources(specs)
	if err != nil {
		panic("models: a graph was checked and is wrong: " + err.Error())
	}
	order, err := sorted(specs, reads)
	if err != nil {
		panic("models: a graph was checked and is wrong: " + err.Error())
	}
	place := map[int]int{-1: -1}
	for at, i := range order {
		place[i] = at
	}
	// from holds the places that each place reads, readers how many read it, and low
	// the first place that is read from there on.
	n := len(order)
	from, readers, low := make([][]int, n), map[int]int{}, make([]int, n+1)
	for at, i := range order {
		for _, r := range reads[i] {
			from[at] = append(from[at], place[r])
			readers[place[r]]++
		}
	}
	low[n] = n
	for at := n - 1; at >= 0; at-- {
		low[at] = min(low[at+1], slices.Min(from[at]))
	}
	named := func(at int) nn.Layer {
		i := order[at]
		return nn.Named{Layer: specs[i].layer(), Name: specs[i].Name, Number: i + 1, Files: specs[i].files()}
	}
	var layers []nn.Layer
	for at := 0; at < n; {
		end := at // the next place through which all goes
		for low[end+1] < end {
			end++
		}
		if end == at {
			layers = append(layers, named(at))
			at++
			continue
		}
		g, branch := nn.Graph{}, map[int]int{at - 1: -1}
		for p := at; p <= end; p++ {
			s, r := specs[order[p]], from[p][0]
			if !s.joins() && r >= at && readers[r] == 1 {
				b := &g.Branches[branch[r]]
				b.Layers = append(b.Layers, named(p))
				branch[p] = branch[r]
				continue
			}
			b := nn.Branch{Number: order[p] + 1}
			for _, r := range from[p] {
				b.From = append(b.From, branch[r])
			}
			if s.joins() {
				b.Join, b.Weights, b.Zero = s.Type, s.Weights, s.Zero
			} else {
				b.Layers = []nn.Layer{named(p)}
			}
			branch[p] = len(g.Branches)
			g.Branches = append(g.Branches, b)
		}
		layers = append(layers, g)
		at = end + 1
	}
	return layers
}
