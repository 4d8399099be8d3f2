//go:build !amd64 || purego

package kernels

const hasBF16 = false

func bf16At(Level) bf16Table { return bf16Generic }
