//go:build !purego

package kernels

import "github.com/klauspost/cpuid/v2"

// hasBF16 says whether the processor has VDPBF16PS and the conversions to bf16.
var hasBF16 = cpuid.CPU.Supports(cpuid.AVX512BF16)
