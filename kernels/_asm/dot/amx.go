package dot

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The instructions of AMX are of VEX.128.0F38.W0, which Go's assembler does not know either. Tiles have the numbers 0 to
// 7.

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
	write(fmt.Sprintf("TILELOADD (%s)(%s*1), T%d", base.Asm(), index.Asm(), tile), onTiles(vexF2, 0x4b, tile, 0, true, general(base), general(index)))
}

// StoreTile is the reverse of LoadTile.
func StoreTile(tile byte, base, index reg.GPPhysical) {
	write(fmt.Sprintf("TILESTORED T%d, (%s)(%s*1)", tile, base.Asm(), index.Asm()), onTiles(vexF3, 0x4b, tile, 0, true, general(base), general(index)))
}

// AddTiles adds to acc the products of the pairs in the rows of x with those in the columns of y.
func AddTiles(y, x, acc byte) {
	write(fmt.Sprintf("TDPBF16PS T%d, T%d, T%d", y, x, acc), onTiles(vexF3, 0x5c, acc, y, false, x, 0))
}
