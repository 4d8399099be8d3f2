//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"
#include "tile_arm64.h"
#include "split_arm64.h"

// COL loads the elements of a row of A that go with the rows of the tile, their high halves, at R1, into V16, the low ones, at R19, into
// V20; the third of three goes behind.
#define COL1 FMOVS (R1), F16; FMOVS (R19), F20
#define COL2 FMOVD (R1), F16; FMOVD (R19), F20
#define COL3 COL2; FMOVS 8(R1), F17; FMOVS 8(R19), F21
#define COL4 FMOVQ (R1), F16; FMOVQ (R19), F20

// OUT adds to column quad c of each row its element, of the registers from x on, times the quad b.
#define OUT1(x, l, b, c) FMLA4SL(x, 0, b, c)
#define OUT2(x, l, b, c) OUT1(x, l, b, c); FMLA4SL(x, 1, b, c+4)
#define OUT3(x, l, b, c) OUT2(x, l, b, c); FMLA4SL(x+1, 0, b, c+8)
#define OUT4(x, l, b, c) OUT2(x, l, b, c); FMLA4SL(x, 2, b, c+8); FMLA4SL(x, 3, b, c+12)

#define EXACT1(x, l, b, c) EXACT(x, 0, b, c)
#define EXACT2(x, l, b, c) EXACT1(x, l, b, c); EXACT(x, 1, b, c+4)
#define EXACT3(x, l, b, c) EXACT2(x, l, b, c); EXACT(x+1, 0, b, c+8)
#define EXACT4(x, l, b, c) EXACT2(x, l, b, c); EXACT(x, 2, b, c+8); EXACT(x, 3, b, c+12)

// FROM points at the rows, and loads what the tile starts from.
#define FROM(ZERO, LOAD, old, begin) \
	MOVD tnArgs_a(R0), R1;     \
	ADD  R17, R1, R19;         \
	MOVD tnArgs_segs(R0), R13; \
	MOVD R2, R11;              \
	CBNZ R20, old;             \
	ZERO;                      \
	B    begin;                \
old:                           \
	MOVD R3, R14;              \
	LOAD;                      \
begin:

// SUMS runs the steps of a tile. STEP takes a row of A and one of G.
#define SUMS(STEP, MUL, COL, segment, row) \
segment:           \
	MOVD R9, R12;  \
	PCALIGN $32;   \
row:               \
	COL;           \
	STEP(MUL);     \
	ADD  R4, R1;   \
	ADD  R4, R19;  \
	ADD  R5, R11;  \
	SUBS $1, R12;  \
	BNE  row;      \
	ADD  R6, R1;   \
	ADD  R6, R19;  \
	ADD  R7, R11;  \
	SUBS $1, R13;  \
	BNE  segment

#define TAKE(MUL) SPLIT(MUL, 0, 0)
#define TAKEX(MUL) FLUSH(16); FLUSH(17); FLUSH(20); FLUSH(21); EXACTLYSPLIT(MUL, 0, 0)

// TN is the body of the TN tile functions of split pairs, of ROWS rows. R2 is the panel of G, R3 the tile of C, whose rows are 64 bytes
// apart.
#define TN(ROWS, COL, MUL, EXACT, ZERO, LOAD, FLUSHTILE, STORE) \
	MOVD args+0(FP), R0;             \
	MOVD tnArgs_lda(R0), R4;         \
	MOVD tnArgs_ldg(R0), R5;         \
	MOVD tnArgs_aNext(R0), R6;       \
	MOVD tnArgs_gNext(R0), R7;       \
	MOVD tnArgs_m(R0), R9;           \
	MOVD tnArgs_panel(R0), R15;      \
	MOVD tnArgs_accumulate(R0), R20; \
	MOVD $64, R8;                    \
	SAVE;                            \
block:                               \
	MOVD tnArgs_g(R0), R2;           \
	MOVD tnArgs_c(R0), R3;           \
	MOVD tnArgs_panels(R0), R10;     \
panel:                               \
	FROM(ZERO, LOAD, old, begin)     \
	SUMS(TAKE, MUL, COL, segment, row); \
	FLUSHED(again);                  \
finish:                              \
	MOVD R3, R14;                    \
	STORE;                           \
	ADD  $64, R2;                    \
	ADD  R15, R3;                    \
	SUBS $1, R10;                    \
	BNE  panel;                      \
	MOVD tnArgs_blocks(R0), R13;     \
	SUBS $1, R13;                    \
	MOVD R13, tnArgs_blocks(R0);     \
	BEQ  last;                       \
	MOVD tnArgs_a(R0), R1;           \
	ADD  $(4*ROWS), R1;              \
	MOVD R1, tnArgs_a(R0);           \
	MOVD tnArgs_c(R0), R3;           \
	ADD  $(64*ROWS), R3;             \
	MOVD R3, tnArgs_c(R0);           \
	B    block;                      \
last:                                \
	RESTORE;                         \
	RET;                             \
again:                               \
	EXACTLY;                         \
	FROM(ZERO, LOAD, oldX, beginX)   \
	FLUSHTILE;                       \
	SUMS(TAKEX, EXACT, COL, segmentX, rowX); \
	FLUSHING;                        \
	B    finish

// func tnSplitNEONx1(args *tnArgs)
TEXT ·tnSplitNEONx1(SB), NOSPLIT, $16-8
	TN(1, COL1, OUT1, EXACT1, ZERO1, LOAD1, FLUSH1, STORE1)

// func tnSplitNEONx2(args *tnArgs)
TEXT ·tnSplitNEONx2(SB), NOSPLIT, $16-8
	TN(2, COL2, OUT2, EXACT2, ZERO2, LOAD2, FLUSH2, STORE2)

// func tnSplitNEONx3(args *tnArgs)
TEXT ·tnSplitNEONx3(SB), NOSPLIT, $16-8
	TN(3, COL3, OUT3, EXACT3, ZERO3, LOAD3, FLUSH3, STORE3)

// func tnSplitNEONx4(args *tnArgs)
TEXT ·tnSplitNEONx4(SB), NOSPLIT, $16-8
	TN(4, COL4, OUT4, EXACT4, ZERO4, LOAD4, FLUSH4, STORE4)
