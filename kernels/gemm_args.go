package kernels

// nnArgs is what an NN tile function reads: a tile of fixed height over some
// panels. Distances are in bytes. Its offsets are known to _asm/gemm.
type nnArgs struct {
	a, b, c *float32
	bias    *float32 // read if mode has modeBias
	lda     int
	segNext int // from the end of a segment of A to the start of the next
	segs    int // at least 1
	k       int // at least 1
	panel   int // between panels of B
	ldc     int
	panels  int
	mode    int

	ahead     *float32 // what tiles of four rows and more prefetch, one line for each row of a panel; where nnKeep leaves pairs
	aheadStep int      // from one line to the next; from a panel of pairs to the next

	_ [3]int // the function's scratch: where it is in b and in bias, segments left

	taps *nnTaps // of nnEdge: those of a segment, after which is one of no steps

	half   int // 1: after the panels is one of which the first half counts, 2: one more before that
	blocks int // tiles below one another, at least 1; 0 after the call, when a and c belong to the last one
}

// nnTaps are steps of a segment that leave out the same rows of a tile.
type nnTaps struct {
	steps int
	left  int // 0: no row; 1 and 2: one or two rows at the start; 3 and 4: one or two at the end
}

// The bits of nnArgs.mode.
const (
	modeBias = 1 << iota
	modeAccumulate
	modeReLU
)

// tnArgs is what a TN tile function reads: tiles of fixed height below one another
// over some panels. Distances are in bytes. Its offsets are known to _asm/gemm.
type tnArgs struct {
	a, g, c      *float32 // a and c belong to the last tile after the call
	lda, ldg     int
	aNext, gNext int // from the end of a segment to the start of the next
	m            int // at least 1
	segs         int // at least 1
	panel        int // between panels of C
	panels       int
	accumulate   int // 0 starts at zero
	blocks       int // tiles, at least 1; 0 after the call
	_            int // the function's scratch: where it is in g
	half         int // as in nnArgs
}

// ntArgs is what an NT tile function reads: a tile of fixed height over the rows of
// B. Distances are in bytes. Its offsets are known to _asm/gemm.
type ntArgs struct {
	a, b, l    *float32
	lda        int
	panel      int    // between panels of B
	ldl        int    // between rows of lanes
	panels     int    // at least 1
	k          int    // at least 1
	accumulate int    // 0 starts at zero
	ahead      int    // from the first row of B to what is prefetched, panel by panel; 0: nothing
	_          [2]int // the function's scratch: where the panel that it prefetches ends, and how far from there the next one starts
}

// tsArgs is what a TS tile function reads: tiles of fixed height below one another
// over some panels. Distances are in bytes. Its offsets are known to _asm/gemm.
type tsArgs struct {
	a, g, w  *float32 // a and w belong to the last tile after the call
	v        *float32 // nil without momentum; that of w before the call, or with sums where w comes from
	lda, ldg int
	m        int // at least 1
	panel    int // between panels of w and v
	panels   int // at least 1
	ahead    int // from a row of w to what it prefetches
	aheadV   int // from a row of v to what it prefetches

	lr, momentum, decay float32

	blocks int // tiles, at least 1; 0 after the call

	sums *float32 // of products, three times 16 lanes a panel; nil when there are none

	_ [4]int // the function's scratch: where it is in g, panels left, where it is in the sums, where what it prefetches ends

	anchor int // from w to its anchor; 0 without a proximal term
	mu     float32
}
