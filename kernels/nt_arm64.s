//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"
#include "tile_arm64.h"

// A tile holds the 16 lanes of a row of B with row i of A in V(4i) to V(4i+3). V24 to V27 hold a panel of a row of A, at R11, and V28 to
// V31 that of the row of B.

// LANES adds the products of row i, whose lanes start at c, and goes on to the next row.
#define LANES(c) \
	FLDPQ (R11), (F24, F25);   \
	FLDPQ 32(R11), (F26, F27); \
	FMLA4S(28, 24, c);         \
	FMLA4S(29, 25, c+1);       \
	FMLA4S(30, 26, c+2);       \
	FMLA4S(31, 27, c+3);       \
	ADD   R4, R11

#define LANES1 LANES(0)
#define LANES2 LANES1; LANES(4)
#define LANES3 LANES2; LANES(8)
#define LANES4 LANES3; LANES(12)
#define LANES5 LANES4; LANES(16)
#define LANES6 LANES5; LANES(20)

// NT is the body of the NT tile functions, with args in R0. R2 is the row of B, R3 its lanes with the first row of A.
#define NT(LANES, ZERO, LOAD, STORE) \
	MOVD ntArgs_b(R0), R2;           \
	MOVD ntArgs_l(R0), R3;           \
	MOVD ntArgs_lda(R0), R4;         \
	MOVD ntArgs_panel(R0), R5;       \
	MOVD ntArgs_ahead(R0), R6;       \
	MOVD ntArgs_k(R0), R7;           \
	MOVD ntArgs_ldl(R0), R8;         \
	MOVD ntArgs_accumulate(R0), R20; \
row:                                 \
	MOVD ntArgs_a(R0), R1;           \
	MOVD ntArgs_panels(R0), R10;     \
	MOVD R2, R12;                    \
	CBNZ R20, accumulate;            \
	ZERO;                            \
	B    panel;                      \
accumulate:                          \
	MOVD R3, R14;                    \
	LOAD;                            \
	PCALIGN $32;                     \
panel:                               \
	ADD  R6, R12, R13;               \
	PRFM (R13), PLDL2KEEP;           \
	FLDPQ (R12), (F28, F29);         \
	FLDPQ 32(R12), (F30, F31);       \
	MOVD R1, R11;                    \
	LANES;                           \
	ADD  $64, R1;                    \
	ADD  R5, R12;                    \
	SUBS $1, R10;                    \
	BNE  panel;                      \
	MOVD R3, R14;                    \
	STORE;                           \
	ADD  $64, R2;                    \
	ADD  $64, R3;                    \
	SUBS $1, R7;                     \
	BNE  row

// func ntNEONx1(args *ntArgs)
TEXT ·ntNEONx1(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	NT(LANES1, ZERO1, LOAD1, STORE1)
	RET

// func ntNEONx2(args *ntArgs)
TEXT ·ntNEONx2(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	NT(LANES2, ZERO2, LOAD2, STORE2)
	RET

// func ntNEONx3(args *ntArgs)
TEXT ·ntNEONx3(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	NT(LANES3, ZERO3, LOAD3, STORE3)
	RET

// func ntNEONx4(args *ntArgs)
TEXT ·ntNEONx4(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	NT(LANES4, ZERO4, LOAD4, STORE4)
	RET

// func ntNEONx5(args *ntArgs)
TEXT ·ntNEONx5(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	NT(LANES5, ZERO5, LOAD5, STORE5)
	RET

// func ntNEONx6(args *ntArgs)
TEXT ·ntNEONx6(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	NT(LANES6, ZERO6, LOAD6, STORE6)
	RET
