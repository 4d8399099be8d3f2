package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/fedfast/fedfast/kernels/_asm/level"
)

// peak writes a loop of fused multiply-adds that touches no memory: 12 independent sums, two rounds an iteration.
func peak(v isa) {
	TEXT("peak"+v.name, NOSPLIT, "func(n int)")
	Doc("peak" + v.name + " runs n times 24 independent fused multiply-adds on registers.")
	Load(Param("n"), kc)
	t := tile{isa: v, rows: 6, panels: 2 / v.perPa}
	if v.zmm {
		t.panels = 2
	}
	t.zero()
	x, y := t.reg(12), t.reg(13)
	MOVL(U32(math.Float32bits(1.0/1024)), reg.EAX)
	VMOVD(reg.EAX, reg.X12)
	VBROADCASTSS(reg.X12, x)
	VMOVAPS(x, y)
	level.Align()
	Label("loop")
	for range 2 {
		t.each(func(i, j int) { VFMADD231PS(x, y, t.acc(i, j)) })
	}
	DECQ(kc)
	JNE(LabelRef("loop"))
	end()
}
