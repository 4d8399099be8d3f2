//go:build !amd64 || purego

package kernels

// sparseAt has nothing for NEON yet, whose sums are fused.
func sparseAt(l Level) sparseTable {
	if l == NEON {
		return sparseTable{}
	}
	return sparseGeneric
}
