//go:build !purego

package kernels

func init() {
	if hasBF16 {
		OtherBF16 = func() (restore func()) {
			old := bf16s
			bindBF16(old.peakFLOPs == gemms.peakFLOPs)
			return func() { bf16s = old }
		}
	}
}
