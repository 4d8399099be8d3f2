//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"

// ROUND is a round of Philox on the words V0 to V3 of four counters. V24 and V25 are the multipliers, R6 points at the round's keys.
#define ROUND \
	UMULL2D(24, 0, 4);             \
	UMULLH2D(24, 0, 5);            \
	UMULL2D(25, 2, 6);             \
	UMULLH2D(25, 2, 7);            \
	VLD1R.P 4(R6), [V16.S4];       \
	VLD1R.P 4(R6), [V17.S4];       \
	VUZP2 V7.S4, V6.S4, V0.S4;     \
	EOR16B(1, 0, 0);               \
	EOR16B(16, 0, 0);              \
	VUZP2 V5.S4, V4.S4, V2.S4;     \
	EOR16B(3, 2, 2);               \
	EOR16B(17, 2, 2);              \
	VUZP1 V7.S4, V6.S4, V1.S4;     \
	VUZP1 V5.S4, V4.S4, V3.S4

// KEEP turns the words of the counters V20 and V21 into masks of the elements to keep.
#define KEEP \
	VUZP1 V21.S4, V20.S4, V0.S4; \
	VUZP2 V21.S4, V20.S4, V1.S4; \
	ORR16B(22, 22, 2);           \
	ORR16B(23, 23, 3);           \
	MOVD R5, R6;                 \
	ROUND;                       \
	ROUND;                       \
	ROUND;                       \
	ROUND;                       \
	ROUND;                       \
	ROUND;                       \
	ROUND;                       \
	ROUND;                       \
	ROUND;                       \
	ROUND;                       \
	CMHS4S(27, 0, 0);            \
	CMHS4S(27, 1, 1);            \
	CMHS4S(27, 2, 2);            \
	CMHS4S(27, 3, 3)

// func dropoutApplyNEON(dst, src []float32, d dropout)
TEXT ·dropoutApplyNEON(SB), NOSPLIT, $64-152
	MOVD  dst_base+0(FP), R0
	MOVD  src_base+24(FP), R1
	MOVD  src_len+32(FP), R2
	MOVD  $d_keys_0+48(FP), R5
	MOVD  d_block+128(FP), R7
	MOVD  d_stream+136(FP), R8
	MOVWU d_threshold+144(FP), R9
	FMOVS d_scale+148(FP), F31
	DUPL4S(0, 31, 31)
	DUPW4S(9, 27)
	DUPW4S(8, 22)
	LSR   $32, R8
	DUPW4S(8, 23)
	CONST(0xD2511F53, 24)
	CONST(0xCD9E8D57, 25)
	VMOV  R7, V20.D[0]
	ADD   $1, R7
	VMOV  R7, V20.D[1]
	ADD   $1, R7
	VMOV  R7, V21.D[0]
	ADD   $1, R7
	VMOV  R7, V21.D[1]
	MOVD  $4, R7
	VDUP  R7, V26.D2
	SUBS  $16, R2
	BLT   rest

loop:
	KEEP
	VADD   V26.D2, V20.D2, V20.D2
	VADD   V26.D2, V21.D2, V21.D2
	VLD4.P 64(R1), [V4.S4, V5.S4, V6.S4, V7.S4] // by words, like the masks
	FMUL4S(31, 4, 4)
	FMUL4S(31, 5, 5)
	FMUL4S(31, 6, 6)
	FMUL4S(31, 7, 7)
	AND16B(0, 4, 4)
	AND16B(1, 5, 5)
	AND16B(2, 6, 6)
	AND16B(3, 7, 7)
	VST4.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	SUBS   $16, R2
	BGE    loop

rest:
	ADDS $16, R2
	BEQ  done
	KEEP
	MOVD $masks-64(SP), R6
	VST4 [V0.S4, V1.S4, V2.S4, V3.S4], (R6)

one:
	FMOVS.P 4(R1), F0
	FMOVS.P 4(R6), F1
	FMUL4S(31, 0, 0)
	AND16B(1, 0, 0)
	FMOVS.P F0, 4(R0)
	SUBS    $1, R2
	BNE     one

done:
	RET
