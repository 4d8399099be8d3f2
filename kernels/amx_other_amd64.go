//go:build !linux && !purego

package kernels

func hasAMX() bool { return false }
