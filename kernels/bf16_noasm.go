//go:build !amd64 || purego

package kernels

const hasBF16 = false
