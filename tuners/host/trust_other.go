//go:build !unix

package host

// trusted takes every file: their modes do not tell who may write here.
func trusted(string) error { return nil }
