//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"
#include "exp_arm64.h"

// func lstmForwardNEON(gates, cPrev, c, tanhC, h []float32)
TEXT ·lstmForwardNEON(SB), NOSPLIT, $0-120
	MOVD gates_base+0(FP), R0
	MOVD cPrev_base+24(FP), R1
	MOVD cPrev_len+32(FP), R6
	MOVD c_base+48(FP), R2
	MOVD c_len+56(FP), R5
	MOVD tanhC_base+72(FP), R3
	MOVD h_base+96(FP), R4
	EXPCONST
	SIGMOIDLIMITS
	TANHCONST

units: // 16 of them
	MOVD $4, R7

four:
	FMOVQ   (R0), F0
	SIGMOID(0, 1, 2, 3)
	FMOVQ   F0, (R0)
	FMOVQ   128(R0), F4
	TANH(4, 1, 2, 3, 5)
	FMOVQ   F4, 128(R0)
	FMUL4S(4, 0, 6)         // the cell: i*g
	FMOVQ   64(R0), F0
	SIGMOID(0, 1, 2, 3)
	FMOVQ   F0, 64(R0)
	CBZ     R6, start
	FMOVQ.P 16(R1), F4
	FMLA4S(4, 0, 6)         // + f*cPrev

start:
	FMOVQ.P F6, 16(R2)
	FMOVQ   192(R0), F0
	SIGMOID(0, 1, 2, 3)
	FMOVQ   F0, 192(R0)
	TANH(6, 1, 2, 3, 5)
	FMOVQ.P F6, 16(R3)
	FMUL4S(6, 0, 0)
	FMOVQ.P F0, 16(R4)
	ADD     $16, R0
	SUBS    $1, R7
	BNE     four
	ADD     $192, R0
	SUBS    $16, R5
	BNE     units
	RET

// SLOPE sets s to x - x².
#define SLOPE(x, s) ORR16B(x, x, s); FMLS4S(x, x, s)

// SLOPE1 sets s to 1 - x².
#define SLOPE1(x, s) ORR16B(29, 29, s); FMLS4S(x, x, s)

// func lstmBackwardNEON(dGates, gates, cPrev, tanhC, dh, dc []float32)
TEXT ·lstmBackwardNEON(SB), NOSPLIT, $0-144
	MOVD dGates_base+0(FP), R0
	MOVD gates_base+24(FP), R1
	MOVD cPrev_base+48(FP), R2
	MOVD cPrev_len+56(FP), R6
	MOVD tanhC_base+72(FP), R3
	MOVD dh_base+96(FP), R4
	MOVD dc_base+120(FP), R5
	MOVD dc_len+128(FP), R8
	CONST(0x3F800000, 29)

units:
	MOVD $4, R7

four:
	FMOVQ   (R1), F0    // i
	FMOVQ   64(R1), F1  // f
	FMOVQ   128(R1), F2 // g
	FMOVQ   192(R1), F3 // o
	FMOVQ.P 16(R3), F4
	FMOVQ.P 16(R4), F5  // dh
	FMOVQ   (R5), F16
	FMUL4S(4, 5, 6)     // dh*tanhC
	SLOPE(3, 7)
	FMUL4S(7, 6, 6)
	FMOVQ   F6, 192(R0)
	FMUL4S(3, 5, 5)     // dh*o
	SLOPE1(4, 7)
	FMLA4S(7, 5, 16)    // the gradient by the cell
	FMUL4S(2, 16, 6)    // * g
	SLOPE(0, 7)
	FMUL4S(7, 6, 6)
	FMOVQ   F6, (R0)
	FMUL4S(0, 16, 6)    // * i
	SLOPE1(2, 7)
	FMUL4S(7, 6, 6)
	FMOVQ   F6, 128(R0)
	EOR16B(6, 6, 6)
	CBZ     R6, start
	FMOVQ.P 16(R2), F6
	FMUL4S(6, 16, 6)    // * cPrev
	SLOPE(1, 7)
	FMUL4S(7, 6, 6)

start:
	FMOVQ   F6, 64(R0)
	FMUL4S(1, 16, 16)   // * f
	FMOVQ.P F16, 16(R5)
	ADD     $16, R0
	ADD     $16, R1
	SUBS    $1, R7
	BNE     four
	ADD     $192, R0
	ADD     $192, R1
	SUBS    $16, R8
	BNE     units
	RET
