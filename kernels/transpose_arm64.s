//go:build !purego

#include "textflag.h"

// TRANSPOSE4 transposes V0 to V3 into V16 to V19.
#define TRANSPOSE4 \
	VTRN1 V1.S4, V0.S4, V4.S4;   \
	VTRN2 V1.S4, V0.S4, V5.S4;   \
	VTRN1 V3.S4, V2.S4, V6.S4;   \
	VTRN2 V3.S4, V2.S4, V7.S4;   \
	VTRN1 V6.D2, V4.D2, V16.D2;  \
	VTRN1 V7.D2, V5.D2, V17.D2;  \
	VTRN2 V6.D2, V4.D2, V18.D2;  \
	VTRN2 V7.D2, V5.D2, V19.D2

// func transposeNEON(dst, src *float32, blocks, dstStep int)
TEXT ·transposeNEON(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD blocks+16(FP), R2
	MOVD dstStep+24(FP), R3
	CBZ  R2, done

block:
	MOVD $0, R4 // four rows of src at a time become four columns of dst, R4 bytes in

rows:
	ADD  R4, R0, R5
	MOVD $4, R6

columns:
	FMOVQ   (R1), F0
	FMOVQ   64(R1), F1
	FMOVQ   128(R1), F2
	FMOVQ   192(R1), F3
	TRANSPOSE4
	FMOVQ   F16, (R5)
	FMOVQ   F17, 64(R5)
	FMOVQ   F18, 128(R5)
	FMOVQ   F19, 192(R5)
	ADD     $16, R1
	ADD     $256, R5
	SUBS    $1, R6
	BNE     columns
	ADD     $192, R1
	ADD     $16, R4
	CMP     $64, R4
	BNE     rows
	ADD     R3, R0
	SUBS    $1, R2
	BNE     block

done:
	RET
