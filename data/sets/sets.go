// Package sets registers the built-in datasets with package data, in the order
// in which they are listed. A program that opens federations by name imports it:
//
//	import _ "github.com/fedfast/fedfast/data/sets"
//
// Each package below is a family: the reader of its files and the definitions of
// its sets.
package sets

import (
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/sets/cifar"
	"github.com/fedfast/fedfast/internal/sets/leaf"
	"github.com/fedfast/fedfast/internal/sets/mnist"
	"github.com/fedfast/fedfast/internal/sets/npz"
	"github.com/fedfast/fedfast/internal/sets/parquet"
	"github.com/fedfast/fedfast/internal/sets/stackexchange"
	"github.com/fedfast/fedfast/internal/sets/synthetic"
	"github.com/fedfast/fedfast/internal/sets/table"
	"github.com/fedfast/fedfast/internal/sets/tff"
)

func init() {
	for _, s := range slices.Concat(
		mnist.Sets(), leaf.Sets(), cifar.Sets(), synthetic.Sets(), tff.Sets(), stackexchange.Sets(), npz.Sets(), parquet.Sets(), table.Sets(),
	) {
		if err := data.Register(s.SetInfo, s.Load); err != nil {
			panic(err) // another package took the name of a built-in set
		}
	}
}
