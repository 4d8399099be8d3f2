package kernels

import "slices"

// setWays is up to how many rows there are NN tiles of every height, and the ways of a set
// of a first-level cache. Rows of A a multiple of setBytes apart meet in one set, and taller
// tiles would push them out: 1280 x 256 with K = Lda = 1024 ran at 63 GFLOPS in tiles of 14
// rows and runs at 114 in tiles of 8.
const (
	setWays  = 8
	setBytes = 4 << 10
)

// A plan puts rows together of the tiles that there are. It holds the height of the next
// tile for what is less than two of the highest. Not every height has a tile: one of four
// rows and more has as many sums as hide the latency of a multiply-add, so that more heights
// would save little but the reading of B.
type plan []uint8

// planned returns t with plans for the tiles that do not have every height.
func (t tiles) planned() tiles {
	t.nnPlan, t.tnPlan, t.tsPlan = planOf(t.nn), planOf(t.tn), planOf(t.ts)
	return t
}

// planOf finds the tiles of the least cost, where tiles[h-1], unless it is nil, has h rows:
// that of four rows for lower ones, and of one more for what each tile does beside its
// products. The highest come first. It returns nil if there are tiles of every height.
func planOf[T any](tiles []func(*T)) plan {
	if !slices.ContainsFunc(tiles, func(f func(*T)) bool { return f == nil }) {
		return nil
	}
	n := 2 * len(tiles)
	next, cost := make(plan, n), make([]int, n)
	for left := 1; left < n; left++ {
		for h := 1; h <= min(left, len(tiles)); h++ {
			if tiles[h-1] == nil {
				continue
			}
			if c := cost[left-h] + max(h, 4) + 1; next[left] == 0 || c <= cost[left] {
				next[left], cost[left] = uint8(h), c
			}
		}
	}
	return next
}

// next returns the rows of the next tile of at most tall rows where left are left, and how
// many tiles in a row are of that height. Without a plan for so tall tiles, they are of nearly
// equal height, the higher ones first.
func (p plan) next(left, tall int) (rows, count int) {
	switch {
	case 2*tall != len(p):
		return evenly(left, tall)
	case left%tall == 0:
		return tall, left / tall
	case left < len(p):
		return int(p[left]), 1
	}
	return tall, left/tall - 1
}

// evenly is plan.next where there are tiles of every height.
func evenly(left, tall int) (rows, count int) {
	blocks := (left + tall - 1) / tall
	if taller := left % blocks; taller > 0 {
		return left/blocks + 1, taller
	}
	return left / blocks, blocks
}

// halves reports whether the tiles of NN and TN of some rows know panels of which the first
// half counts, where any do. Others compute the other half, too.
func halves(rows int) bool { return rows >= 4 && rows%2 == 0 }

// nextNN is next for the products of NN. Four rows of ymm registers have too few sums for the
// latency of a multiply-add. So without them, two blocks of four become five and three, whose
// tiles are two panels wide, and five and four six and three.
func (p plan) nextNN(left, tall int, withoutFours bool) (rows, count int) {
	switch {
	case withoutFours && left == 8:
		return 5, 1
	case withoutFours && left == 9:
		return 6, 1
	}
	return p.next(left, tall)
}

// shortNT is up to how many rows there are NT tiles of every height. Tiles of eight and ten
// keep twenty sums as shorter ones do, but read B, which may come from memory, once for a
// batch of ten. Those of bf16, which round B on its way, have one of twelve, too. Where rows
// of A or of the lanes meet in one set of a cache, they push each other out, as there are
// besides them rows of B: 20 rows of 64 columns and 128 rows of B took twice the time that
// tiles of five need.
const shortNT = 6

// nextNT is nextTile for tiles of at most tall rows of NT.
func nextNT(left, tall int) int {
	n, _ := evenly(left, tall)
	switch {
	case n <= shortNT || n%2 == 0:
		return n
	case left > n:
		return n + 1
	}
	return (n + 1) / 2
}
