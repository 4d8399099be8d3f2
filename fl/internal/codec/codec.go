// Package codec holds what makes a vector smaller: quantizers, which replace its values by
// the nearest ones that few bits name, in place, and sparsifiers, which choose some of its
// values. What they do depends on the values and on keyed draws, in the order of the values.
package codec

// Block is how many values share the scale of a quantizer.
const Block = 2048

// Blocks returns how many blocks n values have.
func Blocks(n int) int { return (n + Block - 1) / Block }

// Levels returns how many steps a magnitude has in a number of bits, of which one is the
// sign.
func Levels(bits int) int { return 1<<(bits-1) - 1 }

// each calls f with block after block.
func each(x []float32, f func(block []float32)) {
	for len(x) > 0 {
		n := min(Block, len(x))
		f(x[:n])
		x = x[n:]
	}
}
