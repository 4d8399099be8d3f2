//go:build (!amd64 && !arm64) || purego

package kernels

func gemmAt(Level) gemmTable { return gemmGeneric }
