//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "tile_arm64.h"
#include "nn_steps_arm64.h"

// func peakNEON(n int)
TEXT ·peakNEON(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R12
	MOVD $0x3A800000, R0 // 1/1024
	DUPW4S(0, 24)
	DUPW4S(0, 30)
	DUPW4S(0, 31)
	DUPW4S(0, 25)
	DUPW4S(0, 26)
	DUPW4S(0, 27)
	DUPW4S(0, 28)
	DUPW4S(0, 29)
	ZERO6
loop:
	MUL6(0, 30, 0)
	MUL6(1, 31, 1)
	MUL6(2, 30, 2)
	MUL6(3, 31, 3)
	SUBS $1, R12
	BNE  loop
	RET

// func readNEON(x *float32, lines int)
TEXT ·readNEON(SB), NOSPLIT, $0-16
	MOVD x+0(FP), R0
	MOVD lines+8(FP), R2
	ADD  R2<<6, R0, R1
loop:
	FLDPQ (R0), (F0, F1)
	FLDPQ (R1), (F2, F3)
	FLDPQ 32(R0), (F4, F5)
	FLDPQ 32(R1), (F6, F7)
	ADD  $64, R0
	ADD  $64, R1
	SUBS $1, R2
	BNE  loop
	RET
