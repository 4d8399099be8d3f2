//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"

// R0 is w, R1 g, R2 v, R4 anchor. V28 is lr, V29 decay, V30 mu, V31 momentum. A step holds w in V0 and its direction in V1.
#define GRADIENT(MOV, size) MOV (R0), F0; MOV.P size(R1), F1; FMLA4S(29, 0, 1)
#define PROXIMAL(MOV, size) MOV.P size(R4), F2; FSUB4S(2, 0, 2); FMLA4S(30, 2, 1)
#define MOMENTUM(MOV) MOV (R2), F3; FMLA4S(31, 3, 1)
#define VELOCITY(MOV, size) MOV.P F1, size(R2)
#define WEIGHT(MOV, size) FMLS4S(28, 1, 0); MOV.P F0, size(R0)

#define PLAIN(MOV, size) GRADIENT(MOV, size); WEIGHT(MOV, size)
#define PLAINPROX(MOV, size) GRADIENT(MOV, size); PROXIMAL(MOV, size); WEIGHT(MOV, size)
#define FIRST(MOV, size) GRADIENT(MOV, size); VELOCITY(MOV, size); WEIGHT(MOV, size)
#define FIRSTPROX(MOV, size) GRADIENT(MOV, size); PROXIMAL(MOV, size); VELOCITY(MOV, size); WEIGHT(MOV, size)
#define LATER(MOV, size) GRADIENT(MOV, size); MOMENTUM(MOV); VELOCITY(MOV, size); WEIGHT(MOV, size)
#define LATERPROX(MOV, size) GRADIENT(MOV, size); PROXIMAL(MOV, size); MOMENTUM(MOV); VELOCITY(MOV, size); WEIGHT(MOV, size)

#define RATES \
	DUPL4S(0, 28, 28); \
	DUPL4S(0, 29, 29); \
	DUPL4S(0, 30, 30); \
	DUPL4S(0, 31, 31)

// func sgdPlainNEON(w, g, anchor []float32, r sgdRates)
TEXT ·sgdPlainNEON(SB), NOSPLIT, $0-88
	MOVD  w_base+0(FP), R0
	MOVD  w_len+8(FP), R3
	MOVD  g_base+24(FP), R1
	MOVD  anchor_base+48(FP), R4
	MOVD  anchor_len+56(FP), R5
	FMOVS r_lr+72(FP), F28
	FMOVS r_decay+80(FP), F29
	FMOVS r_mu+84(FP), F30
	RATES
	CBZ   R5, free
	EACH(PLAINPROX, four, rest, one, done)
	RET

free:
	EACH(PLAIN, freeFour, freeRest, freeOne, freeDone)
	RET

// func sgdMomentumNEON(w, g, v, anchor []float32, r sgdRates)
TEXT ·sgdMomentumNEON(SB), NOSPLIT, $0-112
	MOVD  w_base+0(FP), R0
	MOVD  w_len+8(FP), R3
	MOVD  g_base+24(FP), R1
	MOVD  v_base+48(FP), R2
	MOVD  anchor_base+72(FP), R4
	MOVD  anchor_len+80(FP), R5
	FMOVS r_lr+96(FP), F28
	FMOVS r_momentum+100(FP), F31
	FMOVS r_decay+104(FP), F29
	FMOVS r_mu+108(FP), F30
	RATES
	CBZ   R5, free
	EACH(LATERPROX, four, rest, one, done)
	RET

free:
	EACH(LATER, freeFour, freeRest, freeOne, freeDone)
	RET

// func sgdVelocityNEON(w, g, v, anchor []float32, r sgdRates)
TEXT ·sgdVelocityNEON(SB), NOSPLIT, $0-112
	MOVD  w_base+0(FP), R0
	MOVD  w_len+8(FP), R3
	MOVD  g_base+24(FP), R1
	MOVD  v_base+48(FP), R2
	MOVD  anchor_base+72(FP), R4
	MOVD  anchor_len+80(FP), R5
	FMOVS r_lr+96(FP), F28
	FMOVS r_decay+104(FP), F29
	FMOVS r_mu+108(FP), F30
	RATES
	CBZ   R5, free
	EACH(FIRSTPROX, four, rest, one, done)
	RET

free:
	EACH(FIRST, freeFour, freeRest, freeOne, freeDone)
	RET
