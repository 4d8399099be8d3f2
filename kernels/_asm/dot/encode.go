// Package dot writes the instructions of AVX512_BF16.
package dot

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Go's assembler does not know AVX512_BF16, so its instructions are written as bytes, on registers only: an EVEX
// prefix of four bytes,
// the opcode and ModRM. All are of map 0F38 and W0, like VFMADD231PS, by which encode_test.go checks the encoding.

// The mandatory prefixes of EVEX.
const (
	prefix66 = 1
	prefixF3 = 2
	prefixF2 = 3
)

// The widths of EVEX.
const (
	width256 = 1
	width512 = 2
)

// encode returns the bytes of an instruction dst, src1, src2 on registers by number, of which the Intel manual writes
// src1 in the
// middle, EVEX.vvvv, and src2 last, ModRM.rm.
func encode(width, prefix, opcode byte, dst, src1, src2 uint8) [6]byte {
	not := func(register uint8, bit uint) byte { return ^(register >> bit) & 1 }
	return [6]byte{
		0x62,
		not(dst, 3)<<7 | not(src2, 4)<<6 | not(src2, 3)<<5 | not(dst, 4)<<4 | 0b0010,
		(^src1&0xf)<<3 | 1<<2 | prefix,
		width<<5 | not(src1, 4)<<3,
		opcode,
		0b11<<6 | dst&7<<3 | src2&7,
	}
}

// bytes writes an encoded instruction, with its name in a comment.
func bytes(name string, code [6]byte) {
	Comment(name)
	for _, part := range []struct {
		opcode string
		value  uint32
	}{
		{"LONG", uint32(code[0]) | uint32(code[1])<<8 | uint32(code[2])<<16 | uint32(code[3])<<24},
		{"WORD", uint32(code[4]) | uint32(code[5])<<8},
	} {
		Instruction(&ir.Instruction{Opcode: part.opcode, Operands: []Op{U32(part.value)}, ISA: []string{"AVX512_BF16"}})
	}
}

// number returns the number of a zmm register.
func number(r reg.Register) uint8 {
	for i, z := range ByNumber {
		if z == r {
			return uint8(i)
		}
	}
	panic("bf16: not a zmm register")
}

func instruction(name string, width, prefix, opcode byte, dst, src1, src2 reg.Register) {
	d, a, b := number(dst), number(src1), number(src2)
	letter := map[byte]string{width256: "Y", width512: "Z"}[width]
	bytes(fmt.Sprintf("%s %[2]s%[3]d, %[2]s%[4]d, %[2]s%[5]d", name, letter, b, a, d), encode(width, prefix, opcode, d, a, b))
}

// Add adds to acc the products of the pairs in x and y, the high ones first.
func Add(y, x, acc reg.Register) {
	instruction("VDPBF16PS", width512, prefixF3, 0x52, acc, x, y)
}

// AddHalf is Add of the first halves of the registers; it clears the other half of acc.
func AddHalf(y, x, acc reg.Register) {
	instruction("VDPBF16PS", width256, prefixF3, 0x52, acc, x, y)
}

// Convert rounds the floats of low and high to the low and the high half of dst.
func Convert(low, high, dst reg.Register) {
	instruction("VCVTNE2PS2BF16", width512, prefixF2, 0x72, dst, high, low)
}

// ByNumber are the zmm registers.
var ByNumber = []reg.Register{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

// The instructions of AMX are of VEX.128.0F38.W0, which Go's assembler does not know either. Tiles have the numbers 0
// to 7.

// The mandatory prefixes of VEX.
const (
	vex   = 0
	vexF3 = 2
	vexF2 = 3
)

// onTiles returns the bytes of an instruction with a tile in ModRM.reg and one in VEX.vvvv, and memory at base + index,
// or a third tile.
func onTiles(prefix, opcode, tile, vvvv byte, memory bool, base, index byte) []byte {
	code := []byte{0xc4, 0xe2, (^vvvv&0xf)<<3 | prefix, opcode, 0b11<<6 | tile<<3 | base&7}
	if memory {
		code[1] ^= index>>3<<6 | base>>3<<5
		code[4] = tile<<3 | 0b100
		code = append(code, index&7<<3|base&7)
	}
	return code
}

// write writes an instruction of five or six bytes with its name.
func write(name string, code []byte) {
	Comment(name)
	at := func(i int) uint32 { return uint32(code[i]) }
	parts := []*ir.Instruction{{Opcode: "LONG", Operands: []Op{U32(at(0) | at(1)<<8 | at(2)<<16 | at(3)<<24)}}}
	if len(code) == 5 {
		parts = append(parts, &ir.Instruction{Opcode: "BYTE", Operands: []Op{U8(code[4])}})
	} else {
		parts = append(parts, &ir.Instruction{Opcode: "WORD", Operands: []Op{U16(at(4) | at(5)<<8)}})
	}
	for _, part := range parts {
		part.ISA = []string{"AMX_BF16"}
		Instruction(part)
	}
}

// general returns the number of a general register, which is neither SP nor BP as base.
func general(r reg.GPPhysical) byte { return byte(r.PhysicalIndex()) }

// Configure gives the tiles the sizes that 64 bytes at base tell. It clears them.
func Configure(base reg.GPPhysical) {
	code := onTiles(vex, 0x49, 0, 0, false, general(base), 0)
	code[4] &^= 0b11 << 6
	write("LDTILECFG ("+base.Asm()+")", code)
}

// Release gives up the tiles.
func Release() { write("TILERELEASE", onTiles(vex, 0x49, 0, 0, false, 0, 0)) }

// LoadTile loads rows that begin index bytes apart, from base on.
func LoadTile(base, index reg.GPPhysical, tile byte) {
	write(fmt.Sprintf("TILELOADD (%s)(%s*1), T%d", base.Asm(), index.Asm(), tile),
		onTiles(vexF2, 0x4b, tile, 0, true, general(base), general(index)))
}

// StoreTile is the reverse of LoadTile.
func StoreTile(tile byte, base, index reg.GPPhysical) {
	write(fmt.Sprintf("TILESTORED T%d, (%s)(%s*1)", tile, base.Asm(), index.Asm()),
		onTiles(vexF3, 0x4b, tile, 0, true, general(base), general(index)))
}

// AddTiles adds to acc the products of the pairs in the rows of x with those in the columns of y.
func AddTiles(y, x, acc byte) {
	write(fmt.Sprintf("TDPBF16PS T%d, T%d, T%d", y, x, acc), onTiles(vexF3, 0x5c, acc, y, false, x, 0))
}
