//go:build !purego

package kernels

import "github.com/klauspost/cpuid/v2"

// detect returns the assembly levels that this processor and operating system can run, lowest first.
func detect() []Level {
	var levels []Level
	if cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.POPCNT) {
		levels = append(levels, AVX2)
		// Every processor with these four has BMI2, whose shifts make the masks.
		if cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512DQ, cpuid.AVX512BW, cpuid.AVX512VL, cpuid.BMI2) {
			levels = append(levels, AVX512)
		}
	}
	return levels
}

// at returns the table of a level.
func at[T any](l Level, generic, avx2, avx512 T) T {
	if l == AVX512 {
		return avx512
	}
	if l == AVX2 {
		return avx2
	}
	return generic
}
