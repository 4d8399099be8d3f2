//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"
#include "tree_arm64.h"

// The 16 lanes are V0 to V3. What is left after whole groups of 16 is copied to the stack, with zeros behind, and makes one more.

#define CLEAR(at) VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (at)

// func dotNEON(x, y []float32) float32
TEXT ·dotNEON(SB), NOSPLIT, $128-52
	MOVD x_base+0(FP), R0
	MOVD x_len+8(FP), R2
	MOVD y_base+24(FP), R1
	ZERO16
	MOVD $xs-128(SP), R5
	CLEAR(R5)
	MOVD $ys-64(SP), R8
	CLEAR(R8)
	SUBS $16, R2
	BLT  rest

loop:
	VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R1), [V16.S4, V17.S4, V18.S4, V19.S4]
	FMLA4S(16, 4, 0)
	FMLA4S(17, 5, 1)
	FMLA4S(18, 6, 2)
	FMLA4S(19, 7, 3)
	SUBS   $16, R2
	BGE    loop

rest:
	ADDS $16, R2
	BEQ  tree
	PAD(padX)
	MOVD R0, R9
	MOVD R1, R0
	MOVD R8, R5
	PAD(padY)
	MOVD R0, R1
	MOVD R9, R0
	MOVD $0, R2
	B    loop

tree:
	TREE16
	FMOVS F0, ret+48(FP)
	RET

// COLUMNS adds up the columns at R0 and R1, four or one of them.
#define COLUMNS(MOV, size, row) \
	MOV  (R0), F0;       \
	MOVD R1, R6;         \
	MOVD R4, R7;         \
row:                     \
	MOV  (R6), F1;       \
	FADD4S(1, 0, 0);     \
	ADD  R5, R6;         \
	SUBS $1, R7;         \
	BNE  row;            \
	MOV.P F0, size(R0);  \
	ADD  $size, R1


// func colSumNEON(dst, src []float32, m, ld int)
TEXT ·colSumNEON(SB), NOSPLIT, $0-64
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R3
	MOVD src_base+24(FP), R1
	MOVD m+48(FP), R4
	MOVD ld+56(FP), R5
	LSL  $2, R5
	SUBS $32, R3
	BLT  narrow

wide:
	VLD1 (R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	ADD  $64, R0, R8
	VLD1 (R8), [V4.S4, V5.S4, V6.S4, V7.S4]
	MOVD R1, R6
	MOVD R4, R7

row:
	VLD1 (R6), [V16.S4, V17.S4, V18.S4, V19.S4]
	ADD  $64, R6, R9
	VLD1 (R9), [V20.S4, V21.S4, V22.S4, V23.S4]
	FADD4S(16, 0, 0)
	FADD4S(17, 1, 1)
	FADD4S(18, 2, 2)
	FADD4S(19, 3, 3)
	FADD4S(20, 4, 4)
	FADD4S(21, 5, 5)
	FADD4S(22, 6, 6)
	FADD4S(23, 7, 7)
	ADD  R5, R6
	SUBS $1, R7
	BNE  row
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	ADD  $128, R1
	SUBS $32, R3
	BGE  wide

narrow:
	ADDS $32, R3
	BEQ  done
	SUBS $4, R3
	BLT  rest

four:
	COLUMNS(FMOVQ, 16, rowOfFour)
	SUBS $4, R3
	BGE  four

rest:
	ADDS $4, R3
	BEQ  done

one:
	COLUMNS(FMOVS, 4, rowOfOne)
	SUBS $1, R3
	BNE  one

done:
	RET
