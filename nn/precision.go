package nn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Precision describes what the factors of a model's products are rounded to. All else is
// float32: weights, sums, losses, normalizations, optimizers.
type Precision uint8

// The precisions. With BF16 both factors of every product of a dense layer, a
// convolution, an LSTM, a GRU and the heads of attention, forwards and backwards, are
// rounded to bfloat16 (8 bits of exponent and 8 of precision), to the nearest and halfway
// to even. A depthwise convolution, which waits for memory, stays in float32. Where a
// convolution goes by Winograd's algorithm, the factors are what the transforms give: its
// rounding errors are about twice those of direct products then.
const (
	FP32 Precision = iota
	BF16
	// BF16AMX is BF16, but the sums of convolutions, LSTMs, GRUs and dense layers on steps
	// are in the order of Intel's AMX, whose tiles it uses where there are some.
	BF16AMX
)

var precisions = []string{"fp32", "bf16", "bf16-amx"}

// String returns fp32, bf16 or bf16-amx.
func (p Precision) String() string {
	if int(p) < len(precisions) {
		return precisions[p]
	}
	return fmt.Sprintf("Precision(%d)", uint8(p))
}

// Set makes p the precision called name; an empty name is FP32.
func (p *Precision) Set(name string) error {
	i := slices.Index(precisions, cmp.Or(name, precisions[FP32]))
	if i < 0 {
		return fmt.Errorf("unknown precision %q: must be one of %s", name, strings.Join(precisions, ", "))
	}
	*p = Precision(i)
	return nil
}

// WithPrecision returns the model with products in that precision, in training and
// in evaluation; only products with a Hessian stay in float32. Its parameters, their
// names and their places belong to m.
func (m *Model) WithPrecision(p Precision) *Model {
	if p == m.precision {
		return m
	}
	c := *m
	c.precision = p
	c.nodes = c.bind(binding{precision: p})
	c.groups = c.nodes.groups()
	return &c
}

// Precision returns that of the model's products.
func (m *Model) Precision() Precision { return m.precision }

// binding says for what layers are bound.
type binding struct {
	precision Precision
	steps     bool // they are within a residual block of a sequence
	// count counts the layers of each kind, also those of graphs, for their names.
	count map[string]int
	mixed mixtures
}

// bind binds the layers anew, for something else.
func (m *Model) bind(to binding) chain {
	flow, _ := m.input.flow()
	nodes, _, err := bindChain(m.layers, flow, to)
	if err != nil {
		panic("nn: a layer was bound once and is not again: " + err.Error())
	}
	return nodes
}
