//go:build !amd64 || purego

package kernels

// Plain Go gives the bits of all levels; the exponentials are those of the level.

func columnsAt(Level) columnTable { return columnsGeneric }
