//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"

// ADDUP adds the four floats in register a to the sums s and s+1, and their products with those in b to t and t+1.
#define ADDUP(a, b, s, t) \
	FCVTL2D(a, 24);           \
	FCVTLH2D(a, 25);          \
	FCVTL2D(b, 26);           \
	FCVTLH2D(b, 27);          \
	FADD2D(24, s, s);         \
	FADD2D(25, (s)+1, (s)+1); \
	FMLA2D(26, 24, t);        \
	FMLA2D(27, 25, (t)+1)

// func normSumsNEON(sum, inner *float64, a, b *float32, channels, rows, pixels, aNext, bNext int)
TEXT ·normSumsNEON(SB), NOSPLIT, $0-72
	MOVD sum+0(FP), R0
	MOVD inner+8(FP), R1
	MOVD a+16(FP), R2
	MOVD b+24(FP), R3
	MOVD channels+32(FP), R4
	MOVD aNext+56(FP), R5
	MOVD bNext+64(FP), R6
	LSL  $6, R4, R7
	MOVD $0, R12

channel: // the sums of eight channels, and of the products
	VLD1 (R0), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1 (R1), [V4.D2, V5.D2, V6.D2, V7.D2]
	MOVD rows+40(FP), R8
	MOVD R2, R10
	MOVD R3, R11

row:
	MOVD pixels+48(FP), R9

pixel:
	VLD1 (R10), [V16.S4, V17.S4]
	VLD1 (R11), [V18.S4, V19.S4]
	ADDUP(16, 18, 0, 4)
	ADDUP(17, 19, 2, 6)
	ADD  R7, R10
	ADD  R7, R11
	SUBS $1, R9
	BNE  pixel
	ADD  R5, R10
	ADD  R6, R11
	SUBS $1, R8
	BNE  row
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R0)
	VST1.P [V4.D2, V5.D2, V6.D2, V7.D2], 64(R1)
	ADD  $32, R2
	ADD  $32, R3
	ADD  $32, R12
	CMP  R7, R12
	BNE  channel
	RET

// func normForwardNEON(y, x, value, shift *float32, channels, pixels, relu int)
TEXT ·normForwardNEON(SB), NOSPLIT, $0-56
	MOVD y+0(FP), R0
	MOVD x+8(FP), R1
	MOVD channels+32(FP), R4
	MOVD pixels+40(FP), R5
	MOVD relu+48(FP), R6
	LSL  $2, R4
	NEG  R6, R6
	DUPW4S(6, 30)

pixel:
	MOVD value+16(FP), R2
	MOVD shift+24(FP), R3
	MOVD R4, R7

channel:
	FMOVQ.P 16(R1), F0
	FMOVQ.P 16(R2), F1
	FMOVQ.P 16(R3), F2
	FMUL4S(1, 0, 0)
	FADD4S(2, 0, 0)
	FCMLTZ4S(0, 3)
	AND16B(30, 3, 3)
	BIC16B(3, 0, 0)
	FMOVQ.P F0, 16(R0)
	SUBS    $1, R7
	BNE     channel
	SUBS    $1, R5
	BNE     pixel
	RET

// func normBackwardNEON(dx, dy, x, grad, value, shift *float32, channels, pixels int)
TEXT ·normBackwardNEON(SB), NOSPLIT, $0-64
	MOVD dx+0(FP), R0
	MOVD dy+8(FP), R1
	MOVD x+16(FP), R8
	MOVD channels+48(FP), R4
	MOVD pixels+56(FP), R5
	LSL  $2, R4

pixel:
	MOVD grad+24(FP), R2
	MOVD value+32(FP), R3
	MOVD shift+40(FP), R6
	MOVD R4, R7

channel:
	FMOVQ.P 16(R1), F0
	FMOVQ.P 16(R8), F1
	FMOVQ.P 16(R2), F2
	FMOVQ.P 16(R3), F3
	FMOVQ.P 16(R6), F4
	FMUL4S(2, 0, 0)
	FMUL4S(3, 1, 1)
	FADD4S(4, 1, 1)
	FADD4S(1, 0, 0)
	FMOVQ.P F0, 16(R0)
	SUBS    $1, R7
	BNE     channel
	SUBS    $1, R5
	BNE     pixel
	RET
