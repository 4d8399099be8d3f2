//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package fetch

// lock does nothing: this system has no lock on folders.
func lock(string) (unlock func(), err error) { return func() {}, nil }
