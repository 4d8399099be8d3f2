//go:build (!amd64 && !arm64) || purego

package kernels

func sparseAt(Level) sparseTable { return sparseGeneric }
