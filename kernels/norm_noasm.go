//go:build (!amd64 && !arm64) || purego

package kernels

func normAt(Level) normTable { return normGeneric }
