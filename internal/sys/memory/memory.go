// Package memory tells how much memory a process may still take, so that what
// cannot fit is refused before it ends the process.
package memory

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Unknown is what Available returns where the system does not tell.
const Unknown = math.MaxInt64

// Available returns the bytes that this process can still get without swapping,
// and without passing a limit: that of its control group, of its address space
// (ulimit -v) or of GOMEMLIMIT. What the garbage collector has freed, but keeps, is
// not counted.
func Available() int64 {
	free := system()
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		free = min(free, limit-held())
	}
	return max(0, free)
}

// held returns the bytes that Go's runtime has of the system.
func held() int64 { return without("heap/released") }

// without returns the bytes of the runtime's memory except those of some classes.
func without(classes ...string) int64 {
	of := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for _, name := range classes {
		of = append(of, metrics.Sample{Name: "/memory/classes/" + name + ":bytes"})
	}
	metrics.Read(of)
	bytes := of[0].Value.Uint64()
	for _, class := range of[1:] {
		bytes -= class.Value.Uint64()
	}
	return int64(bytes)
}

// reserve is what Limit leaves of a limit to what is not the garbage collector's.
const reserve = 32 << 20

// Limit has the garbage collector keep to what the limits of the process and of its
// control group leave, unless GOMEMLIMIT says otherwise: garbage is no reason to
// pass them. It returns an error where so little is left that the program cannot
// work.
func Limit() error {
	most, limited := limits()
	if !limited {
		return nil
	}
	now := held()
	if most < least {
		return fmt.Errorf("the memory of this process is limited (ulimit -v), and %s more than now are needed to work at all, of which %s are left; raise the limit",
			Size(least), Size(max(0, most)))
	}
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(most - reserve + now)
	}
	return nil
}

// program is what the program itself takes, with its code.
const program = 40 << 20

// Large work, of largeWork bytes or more in vectors, is for a garbage collector that runs
// whenever a share of it, in percent, is garbage: it has no pointers to follow, so that
// this costs nothing.
const (
	largeWork    = 256 << 20
	garbageShare = 10
)

// Expect prepares the program for work that takes a number of bytes, almost all of them
// in vectors, and returns an estimate of the whole program's peak memory during it. It
// collects garbage, and has it collected more often if the work is large, unless GOGC is
// set.
func Expect(bytes int64) int64 {
	runtime.GC()
	if bytes >= largeWork && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbageShare)
	}
	now := without("heap/released", "heap/free")
	return max(Peak(), program+now+bytes+bytes/100*garbageShare/2)
}

// little is how many bytes always fit: the system is asked no sooner than after as
// many.
const little = 8 << 20

// asked counts the bytes that Check was asked for since it last asked the system.
var asked atomic.Int64

// Check returns an error unless a number of bytes can be had. It is cheap for small
// numbers, and may be called for each of many.
func Check(bytes int64) error {
	if bytes < little && asked.Add(bytes) < little {
		return nil
	}
	asked.Store(0)
	if free := Available(); bytes > free {
		return fmt.Errorf("needs %s of memory, only %s available", Size(bytes), Size(free))
	}
	return nil
}

// Size writes a number of bytes with three digits, in units of 1000: 1.25 GB.
func Size(bytes int64) string {
	v := float64(bytes)
	for _, unit := range []string{"bytes", "kB", "MB", "GB", "TB", "PB"} {
		if v < 999.5 {
			return fmt.Sprintf("%.3g %s", v, unit)
		}
		v /= 1000
	}
	return fmt.Sprintf("%.3g EB", v)
}

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
