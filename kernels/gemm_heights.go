package kernels

// heights are the rows that tiles of AVX-512 have. Products of other numbers of rows are
// put together of these: a tile of four rows and more has as many sums as hide the latency
// of a multiply-add, so that more heights would save little but the reading of B.
var heights = [...]int{1, 2, 3, 4, 5, 6, 7, 8, 10, 14}

// setWays is up to how many rows there are tiles of every height, and the ways of a set of a
// first-level cache. Rows of A a multiple of setBytes apart meet in one set, and taller tiles
// would push them out: 1280 x 256 with K = Lda = 1024 ran at 63 GFLOPS in tiles of 14 rows
// and runs at 114 in tiles of 8.
const (
	setWays  = 8
	setBytes = 4 << 10
)

// fitted holds the height of the next tile for what is less than two of the highest.
var fitted = fit()

// fit finds the tiles of the least cost: that of four rows for lower ones, and of one more
// for what each tile does beside its products. The highest come first.
func fit() []uint8 {
	n := 2 * heights[len(heights)-1]
	next, cost := make([]uint8, n), make([]int, n)
	for left := 1; left < n; left++ {
		for _, h := range heights {
			if h > left {
				break
			}
			if c := cost[left-h] + max(h, 4) + 1; next[left] == 0 || c <= cost[left] {
				next[left], cost[left] = uint8(h), c
			}
		}
	}
	return next
}

// nextTile returns the rows of the next tile of at most tall rows where left are left, and
// how many tiles in a row are of that height: blocks of nearly equal height, the higher ones
// first, where there are tiles of every height.
func nextTile(left, tall int) (rows, count int) {
	if tall > setWays {
		if left < len(fitted) {
			return int(fitted[left]), 1
		}
		return tall, left/tall - 1
	}
	return evenly(left, tall)
}

// evenly is nextTile where there are tiles of every height.
func evenly(left, tall int) (rows, count int) {
	blocks := (left + tall - 1) / tall
	if taller := left % blocks; taller > 0 {
		return left/blocks + 1, taller
	}
	return left / blocks, blocks
}

// nextNN is nextTile for the products of NN. Four rows of ymm registers have too few sums
// for the latency of a multiply-add. So without them, two blocks of four become five and
// three, whose tiles are two panels wide, and five and four six and three.
func nextNN(left, tall int, withoutFours bool) (rows, count int) {
	switch {
	case withoutFours && left == 8:
		return 5, 1
	case withoutFours && left == 9:
		return 6, 1
	}
	return nextTile(left, tall)
}

// shortNT is up to how many rows there are NT tiles of every height. Tiles of eight and ten
// keep twenty sums as shorter ones do, but read B, which may come from memory, once for a
// batch of ten. Where rows of A or of the lanes meet in one set of a cache, they push each
// other out, as there are besides them rows of B: 20 rows of 64 columns and 128 rows of B
// took twice the time that tiles of five need.
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
