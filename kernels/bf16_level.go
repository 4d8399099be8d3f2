package kernels

import "fmt"

// CheckBF16 returns an error unless the level in use multiplies numbers of bf16:
// AVX512 on a processor with AVX512_BF16 does so with its instructions, Generic step
// by step with the same bits, slowly.
func CheckBF16() error {
	why := fmt.Sprintf("level %v does not use", current)
	switch {
	case current == Generic, current == AMX, current == AVX512 && hasBF16:
		return nil
	case current == AVX512:
		why = "this processor lacks"
	}
	return fmt.Errorf("it needs AVX512_BF16, which %s; use fp32, or --cpu generic, which gives the same bits slowly", why)
}
