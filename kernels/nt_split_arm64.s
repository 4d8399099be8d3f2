//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"
#include "tile_arm64.h"
#include "split_arm64.h"

// V16 to V19 hold a panel of the row of B, V20 to V23 its halves, V24 to V27 those of a row of A, at R11.

// LANES adds the products of row i, whose lanes start at c, and goes on to the next row.
#define LANES(c) \
	FLDPQ (R11), (F24, F25);   \
	FLDPQ 32(R11), (F26, F27); \
	FMLA4S(20, 24, c);         \
	FMLA4S(21, 25, c+1);       \
	FMLA4S(22, 26, c+2);       \
	FMLA4S(23, 27, c+3);       \
	ADD   R4, R11

#define LANES1 LANES(0)
#define LANES2 LANES1; LANES(4)
#define LANES3 LANES2; LANES(8)
#define LANES4 LANES3; LANES(12)

// EXACTLANES does so exactly. B has no numbers below the normal ones: it was rounded.
#define EXACTLANE(y, c) \
	FLUSH(24);          \
	FMUL4S(31, 24, 26); \
	FMUL4S(31, c, 27);  \
	FMLA4S(y, 24, c);   \
	FMLA4S(y, 26, 27);  \
	ZEROS(c)

#define EXACTLANES(c) \
	FMOVQ (R11), F24;   \
	EXACTLANE(20, c);   \
	FMOVQ 16(R11), F24; \
	EXACTLANE(21, c+1); \
	FMOVQ 32(R11), F24; \
	EXACTLANE(22, c+2); \
	FMOVQ 48(R11), F24; \
	EXACTLANE(23, c+3); \
	ADD   R4, R11

#define EXACT1 EXACTLANES(0)
#define EXACT2 EXACT1; EXACTLANES(4)
#define EXACT3 EXACT2; EXACTLANES(8)
#define EXACT4 EXACT3; EXACTLANES(12)

// SUMS runs the steps over the panels, from zero or the lanes that are there.
#define SUMS(LANES, ZERO, LOAD, FLUSHTILE, panel) \
	MOVD ntArgs_a(R0), R1;       \
	MOVD ntArgs_panels(R0), R10; \
	MOVD R2, R12;                \
	ZERO;                        \
	CBZ  R20, panel;             \
	MOVD R3, R14;                \
	LOAD;                        \
	FLUSHTILE;                   \
	PCALIGN $32;                 \
panel:                           \
	FLDPQ (R12), (F16, F17);     \
	FLDPQ 32(R12), (F18, F19);   \
	AND16B(28, 16, 20);          \
	AND16B(28, 17, 21);          \
	AND16B(28, 18, 22);          \
	AND16B(28, 19, 23);          \
	MOVD R1, R11;                \
	LANES;                       \
	SHL4S(16, 16, 20);           \
	SHL4S(16, 17, 21);           \
	SHL4S(16, 18, 22);           \
	SHL4S(16, 19, 23);           \
	ADD  R17, R1, R11;           \
	LANES;                       \
	ADD  $64, R1;                \
	ADD  R5, R12;                \
	SUBS $1, R10;                \
	BNE  panel

// NT is the body of the NT tile functions of split pairs. R2 is the row of B, R3 its lanes with the first row of A.
#define NT(LANES, EXACT, ZERO, LOAD, FLUSHTILE, STORE) \
	MOVD args+0(FP), R0;             \
	MOVD ntArgs_b(R0), R2;           \
	MOVD ntArgs_l(R0), R3;           \
	MOVD ntArgs_lda(R0), R4;         \
	MOVD ntArgs_panel(R0), R5;       \
	MOVD ntArgs_k(R0), R7;           \
	MOVD ntArgs_ldl(R0), R8;         \
	MOVD ntArgs_accumulate(R0), R20; \
	SAVE;                            \
row:                                 \
	SUMS(LANES, ZERO, LOAD, NOP, panel); \
	FLUSHED(again);                  \
finish:                              \
	MOVD R3, R14;                    \
	STORE;                           \
	ADD  $64, R2;                    \
	ADD  $64, R3;                    \
	SUBS $1, R7;                     \
	BNE  row;                        \
	RESTORE;                         \
	RET;                             \
again:                               \
	EXACTLY;                         \
	SUMS(EXACT, ZERO, LOAD, FLUSHTILE, panelX); \
	FLUSHING;                        \
	B    finish

// func ntSplitNEONx1(args *ntArgs)
TEXT ·ntSplitNEONx1(SB), NOSPLIT, $16-8
	NT(LANES1, EXACT1, ZERO1, LOAD1, FLUSH1, STORE1)

// func ntSplitNEONx2(args *ntArgs)
TEXT ·ntSplitNEONx2(SB), NOSPLIT, $16-8
	NT(LANES2, EXACT2, ZERO2, LOAD2, FLUSH2, STORE2)

// func ntSplitNEONx3(args *ntArgs)
TEXT ·ntSplitNEONx3(SB), NOSPLIT, $16-8
	NT(LANES3, EXACT3, ZERO3, LOAD3, FLUSH3, STORE3)

// func ntSplitNEONx4(args *ntArgs)
TEXT ·ntSplitNEONx4(SB), NOSPLIT, $16-8
	NT(LANES4, EXACT4, ZERO4, LOAD4, FLUSH4, STORE4)
