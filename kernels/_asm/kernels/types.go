// Package kernels names the argument types of the assembly functions, so that the generators can write their signatures without
// loading the package that they generate a part of.
package kernels

type (
	nnArgs struct{}
	tnArgs struct{}
)

var _ = []any{nnArgs{}, tnArgs{}}
