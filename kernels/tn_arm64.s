//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"
#include "tile_arm64.h"

// V24 and V25 hold elements of a row of A, V28 to V31 a row of G.

// COL loads the elements of a row of A, at R1, that go with the rows of the tile: the first four, or two, into V24, the rest into V25.
#define COL1 FMOVS (R1), F24
#define COL2 FMOVD (R1), F24
#define COL3 FMOVD (R1), F24; FMOVS 8(R1), F25
#define COL4 FMOVQ (R1), F24
#define COL5 FMOVQ (R1), F24; FMOVS 16(R1), F25
#define COL6 FMOVQ (R1), F24; FMOVD 16(R1), F25

// OUT adds to column quad c of each row its element of A times the quad b of G.
#define OUT1(b, c) FMLA4SL(24, 0, b, c)
#define OUT2(b, c) OUT1(b, c); FMLA4SL(24, 1, b, c+4)
#define OUT3(b, c) OUT2(b, c); FMLA4SL(25, 0, b, c+8)
#define OUT4(b, c) OUT2(b, c); FMLA4SL(24, 2, b, c+8); FMLA4SL(24, 3, b, c+12)
#define OUT5(b, c) OUT4(b, c); FMLA4SL(25, 0, b, c+16)
#define OUT6(b, c) OUT5(b, c); FMLA4SL(25, 1, b, c+20)

// TN is the body of the TN tile functions of ROWS rows, with args in R0. R2 is the panel of G, R3 the tile of C, whose rows are 64 bytes apart.
#define TN(ROWS, COL, OUT, ZERO, LOAD, STORE) \
	MOVD tnArgs_lda(R0), R4;         \
	MOVD tnArgs_ldg(R0), R5;         \
	MOVD tnArgs_aNext(R0), R6;       \
	MOVD tnArgs_gNext(R0), R7;       \
	MOVD tnArgs_m(R0), R9;           \
	MOVD tnArgs_panel(R0), R15;      \
	MOVD tnArgs_accumulate(R0), R20; \
	MOVD $64, R8;                    \
block:                               \
	MOVD tnArgs_g(R0), R2;           \
	MOVD tnArgs_c(R0), R3;           \
	MOVD tnArgs_panels(R0), R10;     \
panel:                               \
	MOVD tnArgs_a(R0), R1;           \
	MOVD tnArgs_segs(R0), R13;       \
	MOVD R2, R11;                    \
	CBNZ R20, accumulate;            \
	ZERO;                            \
	B    segment;                    \
accumulate:                          \
	MOVD R3, R14;                    \
	LOAD;                            \
segment:                             \
	MOVD R9, R12;                    \
	PCALIGN $32;                     \
row:                                 \
	COL;                             \
	FLDPQ (R11), (F28, F29);         \
	FLDPQ 32(R11), (F30, F31);       \
	OUT(28, 0);                      \
	OUT(29, 1);                      \
	OUT(30, 2);                      \
	OUT(31, 3);                      \
	ADD  R4, R1;                     \
	ADD  R5, R11;                    \
	SUBS $1, R12;                    \
	BNE  row;                        \
	ADD  R6, R1;                     \
	ADD  R7, R11;                    \
	SUBS $1, R13;                    \
	BNE  segment;                    \
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
last:

// func tnNEONx1(args *tnArgs)
TEXT ·tnNEONx1(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(1, COL1, OUT1, ZERO1, LOAD1, STORE1)
	RET

// func tnNEONx2(args *tnArgs)
TEXT ·tnNEONx2(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(2, COL2, OUT2, ZERO2, LOAD2, STORE2)
	RET

// func tnNEONx3(args *tnArgs)
TEXT ·tnNEONx3(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(3, COL3, OUT3, ZERO3, LOAD3, STORE3)
	RET

// func tnNEONx4(args *tnArgs)
TEXT ·tnNEONx4(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(4, COL4, OUT4, ZERO4, LOAD4, STORE4)
	RET

// func tnNEONx5(args *tnArgs)
TEXT ·tnNEONx5(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(5, COL5, OUT5, ZERO5, LOAD5, STORE5)
	RET

// func tnNEONx6(args *tnArgs)
TEXT ·tnNEONx6(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(6, COL6, OUT6, ZERO6, LOAD6, STORE6)
	RET
