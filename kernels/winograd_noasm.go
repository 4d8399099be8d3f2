//go:build !amd64 || purego

package kernels

func winogradAt(Level) winogradTable { return winogradGeneric }
