package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// tiles is the loop over the tiles of a row and their channels, with pixels in rows and with the 16 planes of the
// tiles.
type tiles struct {
	isa
	rows  []reg.GPVirtual
	base  reg.GPVirtual // the channel's value in plane 0
	pixel steps
	plane steps
	bias  reg.GPVirtual // the channel's value in a row that all tiles share
}

// loop repeats body for every vector of channels of every tile.
func (v isa) loop(planes string, rows []string, bias bool, body func(t tiles)) {
	t := tiles{isa: v, base: level.Integer(planes)}
	for _, r := range rows {
		t.rows = append(t.rows, level.Integer(r))
	}
	pixel, plane := level.Integer("pixel"), level.Integer("plane")
	t.pixel, t.plane = steps{step: pixel}, steps{plane, times3(plane)}
	if len(rows) == 4 {
		t.pixel.step3 = times3(pixel)
	}
	// What remains to the next tile after the last channel.
	size, next, skip, count := GP64(), GP64(), level.Integer("ld"), GP64()
	MOVQ(level.Address("channels"), size)
	SHLQ(Imm(6), size)
	LEAQ(Mem{Base: pixel, Index: pixel, Scale: 1}, next)
	SUBQ(size, next)
	SUBQ(size, skip)
	Label("tile")
	MOVQ(level.Address("channels"), count)
	if bias {
		t.bias = level.Integer("bias")
	}
	v.each("channel", count, func() {
		body(t)
		v.forward(append(t.rows, t.base)...)
		if bias {
			v.forward(t.bias)
		}
	})
	for _, r := range t.rows {
		ADDQ(next, r)
	}
	ADDQ(skip, t.base)
	DECQ(level.Address("tiles"))
	JNE(LabelRef("tile"))
	v.End()
}

func input(v isa) {
	v.Text("winogradInput", "(dst, r0, r1, r2, r3 *float32, tiles, channels, pixel, ld, plane int)", "writes a row of tiles; see winogradTable.")
	v.loop("dst", []string{"r0", "r1", "r2", "r3"}, false, func(t tiles) {
		to := GP64()
		MOVQ(t.base, to)
		for y, c := range []struct {
			a, b int
			op   func(a reg.VecVirtual, b Op) reg.VecVirtual
		}{{0, 2, v.Difference}, {1, 2, v.Sum}, {2, 1, v.Difference}, {1, 3, v.Difference}} {
			if y > 0 {
				LEAQ(Mem{Base: to, Index: t.plane.step, Scale: 4}, to)
			}
			var x [4]reg.VecVirtual
			for i := range x {
				x[i] = c.op(v.Load(t.pixel.at(t.rows[c.a], i)), t.pixel.at(t.rows[c.b], i))
			}
			VMOVUPS(v.Difference(x[0], x[2]), t.plane.at(to, 0))
			VMOVUPS(v.Sum(x[1], x[2]), t.plane.at(to, 1))
			VMOVUPS(v.Difference(x[2], x[1]), t.plane.at(to, 2))
			VMOVUPS(v.Difference(x[1], x[3]), t.plane.at(to, 3))
		}
	})
}

func spread(v isa) {
	v.Text("winogradSpread", "(dst, r0, r1 *float32, tiles, channels, pixel, ld, plane int)", "spreads a row of gradients; see winogradTable.")
	v.loop("dst", []string{"r0", "r1"}, false, func(t tiles) {
		var columns [2][4]reg.VecVirtual
		for i := range columns {
			a, b := v.Load(t.pixel.at(t.rows[0], i)), v.Load(t.pixel.at(t.rows[1], i))
			columns[i] = [4]reg.VecVirtual{a, v.Sum(a, b), v.Difference(a, b), b}
		}
		to := GP64()
		MOVQ(t.base, to)
		for y := range 4 {
			if y > 0 {
				LEAQ(Mem{Base: to, Index: t.plane.step, Scale: 4}, to)
			}
			a, b := columns[0][y], columns[1][y]
			VMOVUPS(a, t.plane.at(to, 0))
			VMOVUPS(v.Sum(a, b), t.plane.at(to, 1))
			VMOVUPS(v.Difference(a, b), t.plane.at(to, 2))
			VMOVUPS(b, t.plane.at(to, 3))
		}
	})
}

// lowest is minus infinity, below which nothing is cut off.
const lowest = 0xff800000

func output(v isa) {
	v.Text("winogradOutput", "(r0, r1, src, bias *float32, tiles, channels, pixel, ld, plane, relu int)", "reads a row of tiles; see winogradTable.")
	floor := v.number(lowest)
	CMPQ(level.Address("relu"), Imm(0))
	JEQ(LabelRef("plain"))
	VXORPS(floor.AsX(), floor.AsX(), floor.AsX())
	Label("plain")
	v.loop("src", []string{"r0", "r1"}, true, func(t tiles) {
		var s [2][4]reg.VecVirtual
		from := GP64()
		MOVQ(t.base, from)
		for y := range 4 {
			if y > 0 {
				LEAQ(Mem{Base: from, Index: t.plane.step, Scale: 4}, from)
			}
			for x := range 4 {
				m := t.plane.at(from, x)
				switch y {
				case 0:
					s[0][x] = v.Load(m)
				case 1:
					s[1][x] = v.Load(m)
					VADDPS(s[1][x], s[0][x], s[0][x])
				case 2:
					b := v.Load(m)
					VADDPS(b, s[0][x], s[0][x])
					VSUBPS(b, s[1][x], s[1][x])
				case 3:
					VSUBPS(m, s[1][x], s[1][x])
				}
			}
		}
		for y, r := range t.rows {
			left := v.Sum(v.Sum(s[y][0], s[y][1]), s[y][2])
			right := v.Difference(v.Difference(s[y][1], s[y][2]), s[y][3])
			for x, out := range []reg.VecVirtual{left, right} {
				VADDPS(Mem{Base: t.bias}, out, out)
				VMAXPS(out, floor, out) // keeps NaN and -0, see nnStore of the matrix products
				VMOVUPS(out, t.pixel.at(r, x))
			}
		}
	})
}
