//go:build !purego

package kernels

// detect returns NEON: Go runs on no arm64 processor without it.
func detect() []Level { return []Level{NEON} }
