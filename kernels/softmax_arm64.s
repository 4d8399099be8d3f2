//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"
#include "exp_arm64.h"
#include "tree_arm64.h"

// LARGER puts into V0 what is larger; NaN is passed over. In lanes that a single float leaves, it stands too.
#define LARGER FCMGT4S(0, 4, 5); BIT16B(5, 4, 0)

// TERMS4 adds e^(x-largest) of four floats, at R0, to lanes sum and stores it at R10; V19 is the largest.
#define TERMS4(at, sum) \
	FMOVQ at(R0), F4;      \
	FSUB4S(19, 4, 4);      \
	TERM(4, 5, 6, 7, 16);  \
	FADD4S(4, sum, sum);   \
	FMOVQ F4, at(R10)

#define SCALE(MOV, size) MOV (R0), F4; FMUL4S(18, 4, 4); MOV.P F4, size(R0)

// func softmaxRowNEON(dst, src []float32, scale float32) (largest, sum float32)
TEXT ·softmaxRowNEON(SB), NOSPLIT, $64-64
	MOVD src_base+24(FP), R0
	MOVD src_len+32(FP), R2
	CONST(0xFF800000, 0) // -Inf
	ORR16B(0, 0, 17)
	SUBS $4, R2
	BLT  lastLargest

largest:
	FMOVQ.P 16(R0), F4
	LARGER
	SUBS    $4, R2
	BGE     largest

lastLargest:
	ADDS $4, R2
	BEQ  terms

oneLargest:
	FMOVS.P 4(R0), F4
	DUPL4S(0, 4, 4)
	LARGER
	SUBS    $1, R2
	BNE     oneLargest

terms:
	FMAXV4S(0, 19)
	FMOVS F19, largest+56(FP)
	DUPL4S(0, 19, 19)
	EXPCONST
	TERMLIMIT
	ZERO16
	MOVD  src_base+24(FP), R0
	MOVD  src_len+32(FP), R2
	MOVD  $x-64(SP), R5
	MOVD  dst_base+0(FP), R10
	MOVD  dst_len+8(FP), R11
	MOVD  $64, R12
	CBNZ  R11, start
	MOVD  R5, R10 // nothing to store: let it go to the stack
	MOVD  $0, R12

start:
	SUBS $16, R2
	BLT  rest

loop:
	TERMS4(0, 0)
	TERMS4(16, 1)
	TERMS4(32, 2)
	TERMS4(48, 3)
	ADD  $64, R0
	ADD  R12, R10
	SUBS $16, R2
	BGE  loop

rest:
	ADDS  $16, R2
	BEQ   tree
	FMOVQ F17, (R5) // e^-Inf is 0
	FMOVQ F17, 16(R5)
	FMOVQ F17, 32(R5)
	FMOVQ F17, 48(R5)
	PAD(pad)
	MOVD  $0, R2
	B     loop

tree:
	TREE16
	FMOVS F0, sum+60(FP)
	CBZ   R11, done
	FMOVS scale+48(FP), F18
	FDIVS F0, F18, F18
	DUPL4S(0, 18, 18)
	MOVD  dst_base+0(FP), R0
	MOVD  src_len+32(FP), R3
	SUB   R3, R11
	EACH(SCALE, four, last, one, scaled)
	CBZ   R11, done

zero:
	MOVW.P ZR, 4(R0)
	SUBS   $1, R11
	BNE    zero

done:
	RET
