//go:build !race

package kernels

func raceRead[T any]([]T)  {}
func raceWrite[T any]([]T) {}

const raceEnabled = false
