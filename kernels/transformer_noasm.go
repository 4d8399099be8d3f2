//go:build !amd64 || purego

package kernels

// Plain Go gives the bits of all levels; the exponentials are the exponentials of the level.

func columnsAt(Level) columnTable { return columnsGeneric }
