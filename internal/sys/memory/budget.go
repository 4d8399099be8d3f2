package memory

import (
	"fmt"
	"math"
	"sync/atomic"
)

// A file may become Slack bytes and Ratio times its own size in memory, so that a small
// harmful one does not take the machine. What datasets really unpack to is far less:
// LEAF's images 20 times, TFF's EMNIST in LZMA 30 times, drawings in one colour
// (dSprites) 115 times. The slack is for small files of equal examples, which deflate
// packs up to 1032 times: 60,000 empty images of MNIST's size are 47 MB.
const (
	Ratio = 300
	Slack = 64 << 20
)

// Most returns how many bytes a file of a size may become.
func Most(size int64) int64 {
	if size > (math.MaxInt64-Slack)/Ratio {
		return math.MaxInt64
	}
	return Slack + Ratio*max(0, size)
}

// Budget counts what is made of a file, or of files that belong together. It may be
// used by several goroutines.
type Budget struct {
	size  int64
	taken atomic.Int64
}

// NewBudget returns the budget of a file, or of files, of size bytes in all.
func NewBudget(size int64) *Budget { return &Budget{size: size} }

// Take adds a number of bytes and returns an error if the sum is more than the file may
// become, or if that much memory is not available. It is cheap, and to be called before
// the allocation. A negative number is one that was too large for 64 bits.
func (b *Budget) Take(bytes int64) error {
	all := b.taken.Add(bytes)
	if bytes < 0 || all < 0 {
		all = math.MaxInt64
	}
	if most := Most(b.size); all > most {
		return fmt.Errorf("would become %s in memory, but a file of %s may become %s at most", Size(all), Size(b.size), Size(most))
	}
	return Check(bytes)
}
