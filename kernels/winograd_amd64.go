//go:build !purego

package kernels

//go:generate go run -C _asm ./winograd

func winogradAt(l Level) winogradTable {
	return at(l, winogradGeneric,
		winogradTable{
			input: winogradInputAVX2, spread: winogradSpreadAVX2, output: winogradOutputAVX2,
			weights: winogradWeightsAVX2, gradient: winogradGradientAVX2,
		},
		winogradTable{
			input: winogradInputAVX512, spread: winogradSpreadAVX512, output: winogradOutputAVX512,
			weights: winogradWeightsAVX512, gradient: winogradGradientAVX512,
		})
}
