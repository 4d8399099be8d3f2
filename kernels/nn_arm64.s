//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"
#include "tile_arm64.h"
#include "nn_steps_arm64.h"
#include "nn_wide_arm64.h"

// NN does the panels left, R10 > 0, one at a time.
#define NN(MUL, ROWS, NEXT, FOUR, ONE, ZERO, BIAS, LOAD, RELU, STORE) \
panel:                   \
	ROWS;                \
	MOVD R2, R11;        \
	TBNZ $0, R9, bias;   \
	TBNZ $1, R9, old;    \
	ZERO;                \
	B    begin;          \
bias:                    \
	BIAS;                \
	ADD  $64, R4;        \
	B    begin;          \
old:                     \
	MOVD R3, R14;        \
	LOAD;                \
begin:                   \
	CHAINS(STEP, MUL, NEXT, FOUR, ONE, segment, quad, tail, single, end); \
	TBZ  $2, R9, store;  \
	RELU;                \
store:                   \
	MOVD R3, R14;        \
	STORE;               \
	ADD  $64, R3;        \
	ADD  R15, R2;        \
	SUBS $1, R10;        \
	BNE  panel

// func nnNEONx1(args *nnArgs)
TEXT ·nnNEONx1(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	WIDE(4, PANELS4, STEP1X4, MUL1, ROWS1, NEXT1, FOUR1, ONE1, BIAS1X4, LOAD1X4, STORE1X4)
	NN(MUL1, ROWS1, NEXT1, FOUR1, ONE1, ZERO1, BIAS1, LOAD1, RELU1, STORE1)
	RET

// func nnNEONx2(args *nnArgs)
TEXT ·nnNEONx2(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	WIDE(2, PANELS2, STEP2X2, MUL2X2, ROWS2, NEXT2, FOUR2, ONE2, BIAS2X2, LOAD2X2, STORE2X2)
	NN(MUL2, ROWS2, NEXT2, FOUR2, ONE2, ZERO2, BIAS2, LOAD2, RELU2, STORE2)
	RET

// func nnNEONx3(args *nnArgs)
TEXT ·nnNEONx3(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	NN(MUL3, ROWS3, NEXT3, FOUR3, ONE3, ZERO3, BIAS3, LOAD3, RELU3, STORE3)
	RET

// func nnNEONx4(args *nnArgs)
TEXT ·nnNEONx4(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	NN(MUL4, ROWS4, NEXT4, FOUR4, ONE4, ZERO4, BIAS4, LOAD4, RELU4, STORE4)
	RET

// func nnNEONx5(args *nnArgs)
TEXT ·nnNEONx5(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	NN(MUL5, ROWS5, NEXT5, FOUR5, ONE5, ZERO5, BIAS5, LOAD5, RELU5, STORE5)
	RET

// func nnNEONx6(args *nnArgs)
TEXT ·nnNEONx6(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	NN(MUL6, ROWS6, NEXT6, FOUR6, ONE6, ZERO6, BIAS6, LOAD6, RELU6, STORE6)
	RET
