//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"
#include "tile_arm64.h"
#include "nn_steps_arm64.h"
#include "split_arm64.h"
#include "split_steps_arm64.h"

// Sums in blocks: V0 to V7 hold the chains of the high halves of up to two rows, V8 to V15 those of the low ones. What they are added to
// is in C. A chain of a block is computed again by itself, and not the additions: where the exact sum of two floats is below 2^-126, it
// is a float.

// TAKE takes one row of B times lane l of the rows of A, and goes on to the next.
#define TAKE(MUL, l) SPLIT(MUL, l, 8); ADD R15, R11
#define TAKEX(MUL, l) EXACTLYSPLIT(MUL, l, 8); ADD R15, R11

// CHAINSOF runs the chains of a block of R7 pairs, from R1 and R26 on.
#define CHAINSOF(STEP, MUL, HALVES, QUAD, NUMBER, quad, tail, single, end) \
	HALVES;        \
	MOVD R26, R11; \
	ZERO4;         \
	TERMS(STEP, MUL, QUAD, NUMBER, quad, tail, single, end)

// TOTAL adds the chains at c and c+8 to a row of C, at R14.
#define TOTAL(c) \
	VLD1 (R14), [V16.S4, V17.S4, V18.S4, V19.S4]; \
	FADD4S(c+8, c, 20);   \
	FADD4S(c+9, c+1, 21); \
	FADD4S(c+10, c+2, 22); \
	FADD4S(c+11, c+3, 23); \
	FADD4S(20, 16, 16);   \
	FADD4S(21, 17, 17);   \
	FADD4S(22, 18, 18);   \
	FADD4S(23, 19, 19);   \
	VST1 [V16.S4, V17.S4, V18.S4, V19.S4], (R14)

#define TOTAL1 MOVD R3, R14; TOTAL(0)
#define TOTAL2 TOTAL1; ADD R8, R14; TOTAL(4)

// BLOCKS is the body of the functions of sums in blocks. R2 is the panel of B, R3 its tile of C, R21 and R22 are a segment of A and B, R25
// is how many of its pairs are left.
#define BLOCKS(MUL, EXACT, HALVES, QUAD, NUMBER, QUADX, NUMBERX, ZERO, BIAS, LOAD, RELU, STORE, TOTAL) \
	MOVD args+0(FP), R0;            \
	MOVD blockArgs_b(R0), R2;       \
	MOVD blockArgs_c(R0), R3;       \
	MOVD blockArgs_bias(R0), R4;    \
	MOVD blockArgs_lda(R0), R5;     \
	MOVD blockArgs_aNext(R0), R6;   \
	MOVD blockArgs_ldc(R0), R8;     \
	MOVD blockArgs_mode(R0), R9;    \
	MOVD blockArgs_panels(R0), R10; \
	MOVD blockArgs_ldb(R0), R15;    \
	SAVE;                           \
panel:                              \
	TBNZ $1, R9, started;           \
	TBNZ $0, R9, bias;              \
	ZERO;                           \
	B    start;                     \
bias:                               \
	BIAS;                           \
start:                              \
	MOVD R3, R14;                   \
	STORE;                          \
started:                            \
	MOVD blockArgs_a(R0), R21;      \
	MOVD R2, R22;                   \
	MOVD blockArgs_segs(R0), R13;   \
segment:                            \
	MOVD R21, R1;                   \
	MOVD R22, R26;                  \
	MOVD blockArgs_k(R0), R25;      \
block:                              \
	MOVD $const_blockPairs, R7;     \
	CMP  R7, R25;                   \
	CSEL LT, R25, R7, R7;           \
	CHAINSOF(TAKE, MUL, HALVES, QUAD, NUMBER, quad, tail, single, end) \
	FLUSHED(again);                 \
finish:                             \
	TOTAL;                          \
	ADD  R6, R1;                    \
	MOVD R11, R26;                  \
	SUBS R7, R25;                   \
	BNE  block;                     \
	MOVD blockArgs_aSeg(R0), R16;   \
	ADD  R16, R21;                  \
	MOVD blockArgs_bSeg(R0), R16;   \
	ADD  R16, R22;                  \
	SUBS $1, R13;                   \
	BNE  segment;                   \
	TBZ  $2, R9, stored;            \
	MOVD R3, R14;                   \
	LOAD;                           \
	RELU;                           \
	MOVD R3, R14;                   \
	STORE;                          \
stored:                             \
	MOVD blockArgs_cPanel(R0), R16; \
	ADD  R16, R3;                   \
	MOVD blockArgs_bPanel(R0), R16; \
	ADD  R16, R2;                   \
	ADD  $64, R4;                   \
	SUBS $1, R10;                   \
	BNE  panel;                     \
	RESTORE;                        \
	RET;                            \
again:                              \
	EXACTLY;                        \
	CHAINSOF(TAKEX, EXACT, HALVES, QUADX, NUMBERX, quadX, tailX, singleX, endX) \
	FLUSHING;                       \
	B    finish

// func blocksSplitNEONx1(args *blockArgs)
TEXT ·blocksSplitNEONx1(SB), NOSPLIT, $16-8
	BLOCKS(PAIR1, EXACT1, HALVES1, QUAD1, NUMBER1, QUADX1, NUMBERX1, ZERO1, BIAS1, LOAD1, RELU1, STORE1, TOTAL1)

// func blocksSplitNEONx2(args *blockArgs)
TEXT ·blocksSplitNEONx2(SB), NOSPLIT, $16-8
	BLOCKS(PAIR2, EXACT2, HALVES2, QUAD2, NUMBER2, QUADX2, NUMBERX2, ZERO2, BIAS2, LOAD2, RELU2, STORE2, TOTAL2)
