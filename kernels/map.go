package kernels

// mapBlock is the most elements that one call of an element-wise kernel gets:
// assembly cannot be interrupted for garbage collection, and the slowest of these
// kernels needs about 1 ns an element.
const mapBlock = 1 << 16

const msgLengths = "kernels: slices of different lengths"

// mapUnary calls f on blocks of dst and src.
func mapUnary(f func(dst, src []float32), dst, src []float32) {
	if len(dst) != len(src) {
		panic(msgLengths)
	}
	raceRead(src)
	raceWrite(dst)
	for len(src) > mapBlock {
		callUnary(f, dst[:mapBlock], src[:mapBlock])
		dst, src = dst[mapBlock:], src[mapBlock:]
	}
	if len(src) > 0 {
		callUnary(f, dst, src)
	}
}

// callUnary is not inlined, like all functions called call...: entering it is the
// point where a loop over assembly can be interrupted.
//
//go:noinline
func callUnary(f func(dst, src []float32), dst, src []float32) { f(dst, src) }

// mapBinary calls f on blocks of dst, a and b.
func mapBinary(f func(dst, a, b []float32), dst, a, b []float32) {
	if len(dst) != len(a) || len(dst) != len(b) {
		panic(msgLengths)
	}
	raceRead(a)
	raceRead(b)
	raceWrite(dst)
	for len(dst) > mapBlock {
		callBinary(f, dst[:mapBlock], a[:mapBlock], b[:mapBlock])
		dst, a, b = dst[mapBlock:], a[mapBlock:], b[mapBlock:]
	}
	if len(dst) > 0 {
		callBinary(f, dst, a, b)
	}
}

//go:noinline
func callBinary(f func(dst, a, b []float32), dst, a, b []float32) { f(dst, a, b) }

// mapScaled calls f, which also takes a number, on blocks of dst and src.
func mapScaled(f func(dst, src []float32, alpha float32), dst, src []float32, alpha float32) {
	if len(dst) != len(src) {
		panic(msgLengths)
	}
	raceRead(src)
	raceWrite(dst)
	for len(src) > mapBlock {
		callScaled(f, dst[:mapBlock], src[:mapBlock], alpha)
		dst, src = dst[mapBlock:], src[mapBlock:]
	}
	if len(src) > 0 {
		callScaled(f, dst, src, alpha)
	}
}

//go:noinline
func callScaled(f func(dst, src []float32, alpha float32), dst, src []float32, alpha float32) {
	f(dst, src, alpha)
}
