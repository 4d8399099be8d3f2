//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"

#define AXPY(MOV, size) MOV (R0), F0; MOV.P size(R1), F1; FMLA4S(31, 1, 0); MOV.P F0, size(R0)
#define SCALE(MOV, size) MOV.P size(R1), F0; FMUL4S(31, 0, 0); MOV.P F0, size(R0)
#define PLUS(MOV, size) MOV.P size(R1), F0; MOV.P size(R2), F1; FADD4S(1, 0, 0); MOV.P F0, size(R0)
#define MINUS(MOV, size) MOV.P size(R1), F0; MOV.P size(R2), F1; FSUB4S(1, 0, 0); MOV.P F0, size(R0)

// func axpyNEON(y, x []float32, alpha float32)
TEXT ·axpyNEON(SB), NOSPLIT, $0-52
	MOVD  y_base+0(FP), R0
	MOVD  x_base+24(FP), R1
	MOVD  x_len+32(FP), R3
	FMOVS alpha+48(FP), F31
	DUPL4S(0, 31, 31)
	EACH(AXPY, four, rest, one, done)
	RET

// func scaleNEON(dst, src []float32, alpha float32)
TEXT ·scaleNEON(SB), NOSPLIT, $0-52
	MOVD  dst_base+0(FP), R0
	MOVD  src_base+24(FP), R1
	MOVD  src_len+32(FP), R3
	FMOVS alpha+48(FP), F31
	DUPL4S(0, 31, 31)
	EACH(SCALE, four, rest, one, done)
	RET

// func addNEON(dst, a, b []float32)
TEXT ·addNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R3
	MOVD a_base+24(FP), R1
	MOVD b_base+48(FP), R2
	EACH(PLUS, four, rest, one, done)
	RET

// func subNEON(dst, a, b []float32)
TEXT ·subNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R3
	MOVD a_base+24(FP), R1
	MOVD b_base+48(FP), R2
	EACH(MINUS, four, rest, one, done)
	RET
