// Package kernels names the argument types of the assembly functions, so that the generators can write their
// signatures without
// loading the package that they generate a part of. The fields of arguments that are passed by value are the same
// there.
package kernels

type (
	nnArgs    struct{}
	tnArgs    struct{}
	ntArgs    struct{}
	tsArgs    struct{}
	blockArgs struct{}

	poolArgs struct{}
	lrnArgs  struct{}

	maximaArgs        struct{}
	appendArgs        struct{}
	sparseWeightsArgs struct{}
	sparseInputArgs   struct{}

	sgdRates struct{ lr, momentum, decay, mu float32 }

	channelTap struct{ x, w int }

	adamRates struct{ decay, mu, keep, beta1, rest1, beta2, rest2, rate, scale, eps float32 }

	dropout struct {
		keys      [20]uint32
		block     uint64
		stream    uint64
		threshold uint32
		scale     float32
	}
)

var _ = []any{nnArgs{}, tnArgs{}, ntArgs{}, tsArgs{}, blockArgs{}, poolArgs{}, lrnArgs{}, maximaArgs{}, appendArgs{}, sparseWeightsArgs{}, sparseInputArgs{}, sgdRates{}, adamRates{}, dropout{}, channelTap{}}
