//go:build !amd64 || purego

package kernels

func normAt(Level) normTable { return normGeneric }
