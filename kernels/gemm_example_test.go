package kernels_test

import (
	"fmt"

	"github.com/fedfast/fedfast/kernels"
)

// A dense layer with two inputs, three outputs and a rectifier, for two samples.
// Rows of activations are padded to 16 columns.
func ExampleGemmNN() {
	weights := []float32{ // inputs x outputs
		1, 2, 3,
		4, 5, -6,
	}
	packed := make([]float32, 2*kernels.Pad(3))
	kernels.Pack(packed, weights, 2, 3, 3)
	bias := make([]float32, kernels.Pad(3))
	bias[0] = 0.5

	x := []float32{
		1, 0,
		1, 1,
	}
	y := make([]float32, 2*kernels.Pad(3))
	kernels.GemmNN(&kernels.NN{
		M: 2, N: kernels.Pad(3), K: 2, A: x, Lda: 2, B: packed, Bias: bias, C: y,
		Ldc: kernels.Pad(3), ReLU: true,
	})
	fmt.Println(y[:3])
	fmt.Println(y[kernels.Pad(3):][:3])
	// Output:
	// [1.5 2 3]
	// [5.5 7 0]
}

// The weight gradient of that layer: inputs times the gradients of the outputs,
// summed over the samples.
func ExampleGemmTN() {
	x := []float32{
		1, 0,
		1, 1,
	}
	dy := make([]float32, 2*kernels.Pad(3))
	copy(dy, []float32{1, 2, 3})
	copy(dy[kernels.Pad(3):], []float32{10, 20, 30})

	packed := make([]float32, 2*kernels.Pad(3))
	kernels.GemmTN(&kernels.TN{M: 2, K: 2, N: kernels.Pad(3), A: x, Lda: 2, G: dy, Ldg: kernels.Pad(3), C: packed})
	dw := make([]float32, 2*3)
	kernels.Unpack(dw, packed, 2, 3, 3)
	fmt.Println(dw[:3], dw[3:])
	// Output:
	// [11 22 33] [10 20 30]
}

// The input gradient multiplies by the transposed weights.
func ExamplePackT() {
	weights := []float32{
		1, 2, 3,
		4, 5, 6,
	}
	packed := make([]float32, 2*kernels.Pad(3))
	kernels.Pack(packed, weights, 2, 3, 3)
	transposed := make([]float32, kernels.Pad(3)*kernels.Pad(2))
	kernels.PackT(transposed, kernels.Pad(3), packed, 2, 2, 3)

	plain := make([]float32, 3*2)
	kernels.Unpack(plain, transposed, 3, 2, 2)
	fmt.Println(plain[:2], plain[2:4], plain[4:])
	// Output:
	// [1 4] [2 5] [3 6]
}
