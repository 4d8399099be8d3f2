//go:build !unix

package conformance

// canStop says that processes cannot be stopped and watched here.
const canStop = false

// stop does nothing.
func stop(int) {}

// runs cannot tell.
func runs(int) bool { return false }
