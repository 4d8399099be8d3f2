//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"
#include "tile_arm64.h"
#include "nn_steps_arm64.h"
#include "split_arm64.h"
#include "split_steps_arm64.h"

// TAKE takes one row of B times lane l of the rows of A, and goes on to the next.
#define TAKE(MUL, l) SPLIT(MUL, l, 0); ADD $64, R11
#define TAKEX(MUL, l) EXACTLYSPLIT(MUL, l, 0); ADD $64, R11

// FROM points at the rows and the panel, and loads what the tile starts from.
#define FROM(HALVES, ZERO, BIAS, LOAD, bias, old, begin) \
	HALVES;            \
	MOVD R2, R11;      \
	TBNZ $0, R9, bias; \
	TBNZ $1, R9, old;  \
	ZERO;              \
	B    begin;        \
bias:                  \
	BIAS;              \
	B    begin;        \
old:                   \
	MOVD R3, R14;      \
	LOAD;              \
begin:

// NN is the body of the NN tile functions of split pairs.
#define NN(MUL, EXACT, HALVES, PAST, QUAD, NUMBER, QUADX, NUMBERX, ZERO, BIAS, LOAD, FLUSHTILE, RELU, STORE) \
	MOVD args+0(FP), R0;         \
	ARGS;                        \
	SAVE;                        \
panel:                           \
	FROM(HALVES, ZERO, BIAS, LOAD, bias, old, begin) \
	CHAINS(TAKE, MUL, PAST, QUAD, NUMBER, segment, quad, tail, single, end); \
	FLUSHED(again);              \
finish:                          \
	TBZ  $2, R9, store;          \
	RELU;                        \
store:                           \
	MOVD R3, R14;                \
	STORE;                       \
	ADD  $64, R3;                \
	ADD  $64, R4;                \
	ADD  R15, R2;                \
	SUBS $1, R10;                \
	BNE  panel;                  \
	RESTORE;                     \
	RET;                         \
again:                           \
	EXACTLY;                     \
	FROM(HALVES, ZERO, BIAS, LOAD, biasX, oldX, beginX) \
	FLUSHTILE;                   \
	CHAINS(TAKEX, EXACT, PAST, QUADX, NUMBERX, segmentX, quadX, tailX, singleX, endX); \
	FLUSHING;                    \
	B    finish

// func nnSplitNEONx1(args *nnArgs)
TEXT ·nnSplitNEONx1(SB), NOSPLIT, $16-8
	NN(PAIR1, EXACT1, HALVES1, PAST1, QUAD1, NUMBER1, QUADX1, NUMBERX1, ZERO1, BIAS1, LOAD1, FLUSH1, RELU1, STORE1)

// func nnSplitNEONx2(args *nnArgs)
TEXT ·nnSplitNEONx2(SB), NOSPLIT, $16-8
	NN(PAIR2, EXACT2, HALVES2, PAST2, QUAD2, NUMBER2, QUADX2, NUMBERX2, ZERO2, BIAS2, LOAD2, FLUSH2, RELU2, STORE2)

// func nnSplitNEONx3(args *nnArgs)
TEXT ·nnSplitNEONx3(SB), NOSPLIT, $16-8
	NN(PAIR3, EXACT3, HALVES3, PAST3, QUAD3, NUMBER3, QUADX3, NUMBERX3, ZERO3, BIAS3, LOAD3, FLUSH3, RELU3, STORE3)

// func nnSplitNEONx4(args *nnArgs)
TEXT ·nnSplitNEONx4(SB), NOSPLIT, $16-8
	NN(PAIR4, EXACT4, HALVES4, PAST4, QUAD4, NUMBER4, QUADX4, NUMBERX4, ZERO4, BIAS4, LOAD4, FLUSH4, RELU4, STORE4)
