//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"
#include "exp_arm64.h"

#define EXPS(MOV, size) MOV.P size(R1), F0; EXP(0, 1, 2, 3); MOV.P F0, size(R0)
#define SIGMOIDS(MOV, size) MOV.P size(R1), F0; SIGMOID(0, 1, 2, 3); MOV.P F0, size(R0)
#define TANHS(MOV, size) MOV.P size(R1), F0; TANH(0, 1, 2, 3, 4); MOV.P F0, size(R0)

// func expNEON(dst, src []float32)
TEXT ·expNEON(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R1
	MOVD src_len+32(FP), R3
	EXPCONST
	EXPLIMITS
	EACH(EXPS, four, rest, one, done)
	RET

// func sigmoidNEON(dst, src []float32)
TEXT ·sigmoidNEON(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R1
	MOVD src_len+32(FP), R3
	EXPCONST
	SIGMOIDLIMITS
	EACH(SIGMOIDS, four, rest, one, done)
	RET

// func tanhNEON(dst, src []float32)
TEXT ·tanhNEON(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R1
	MOVD src_len+32(FP), R3
	EXPCONST
	TANHCONST
	EACH(TANHS, four, rest, one, done)
	RET

#define KEEP(MOV, size) \
	MOV.P size(R1), F0; \
	MOV.P size(R2), F1; \
	FCMGTZ4S(1, 1);     \
	AND16B(1, 0, 0);    \
	MOV.P F0, size(R0)

// func reluBackwardNEON(dx, dy, y []float32)
TEXT ·reluBackwardNEON(SB), NOSPLIT, $0-72
	MOVD dx_base+0(FP), R0
	MOVD dy_base+24(FP), R1
	MOVD y_base+48(FP), R2
	MOVD y_len+56(FP), R3
	EACH(KEEP, four, rest, one, done)
	RET
