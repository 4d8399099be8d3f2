// Package fetch writes how the products of rows of the weights fetch what comes next.
package fetch

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Rows are the next rows of B. They are fetched down one panel after the other: rows of many panels in turns are
// fetched more slowly.
type Rows struct {
	// Args points to the arguments, of which End and Gap are fields: where the panel ends that is fetched, and how far it
	// is from there to the next one.
	Args     reg.Register
	End, Gap int
	// Left are how many rows of B there are, Row how many bytes those before are, Panel how many a panel is.
	Left, Row, Panel reg.Register
	// Ahead is where a copy of B begins, 0 if nowhere, then the next row to fetch.
	Ahead reg.Register
	// BP and KC are free.
	BP, KC reg.Register
}

// Begin prepares Fetch; label goes after it.
func (r Rows) Begin(label string) {
	TESTQ(r.Ahead, r.Ahead)
	JEQ(LabelRef(label))
	MOVQ(r.Left, r.KC)
	SHLQ(Imm(6), r.KC)
	ADDQ(r.Row, r.Ahead)
	LEAQ(Mem{Base: r.Ahead, Index: r.KC, Scale: 1}, r.BP)
	MOVQ(r.BP, r.arg(r.End))
	MOVQ(r.Panel, r.BP)
	SUBQ(r.KC, r.BP)
	MOVQ(r.BP, r.arg(r.Gap))
	Label(label)
}

// Fetch prefetches a number of rows, if there are any; label goes after it. What it does is written by Rest, so that
// where nothing is to be
// fetched no jump is taken.
func (r Rows) Fetch(label string, rows int) {
	TESTQ(r.Ahead, r.Ahead)
	JNE(LabelRef("next" + label))
	Label(label)
	rest = append(rest, func() { r.fetch(label, rows) })
}

// rest holds what Rest has to write.
var rest []func()

// Rest writes what the calls of Fetch do, which is jumped over; label goes after it.
func Rest(label string) {
	if len(rest) == 0 {
		return
	}
	JMP(LabelRef(label))
	for _, f := range rest {
		f()
	}
	rest = nil
	Label(label)
}

func (r Rows) fetch(label string, rows int) {
	Label("next" + label)
	for i := range rows {
		PREFETCHT1(Mem{Base: r.Ahead, Disp: 64 * i})
	}
	ADDQ(U32(uint32(64*rows)), r.Ahead)
	CMPQ(r.Ahead, r.arg(r.End))
	JLT(LabelRef(label))
	ADDQ(r.arg(r.Gap), r.Ahead)
	ADDQ(r.Panel, r.arg(r.End))
	JMP(LabelRef(label))
}

func (r Rows) arg(at int) Mem { return Mem{Base: r.Args, Disp: at} }
