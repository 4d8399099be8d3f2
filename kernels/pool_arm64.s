//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"

// TAKE replaces the best pixels so far, and their positions, by those of x at k that are greater or NaN.
#define TAKE(x, k, best, at) \
	FCMGT4S(best, x, 12); \
	FCMEQ4S(x, x, 13);    \
	ORN16B(13, 12, 12);   \
	BIT16B(12, x, best);  \
	BIT16B(12, k, at)

// WINDOWS loads the arguments: R0 dst, R1 idx, R2 top, R3 bottom, R4 the elements to do, R6 the bytes of a pixel.
#define WINDOWS \
	MOVD dst_base+0(FP), R0;      \
	MOVD dst_len+8(FP), R4;       \
	MOVD idx_base+24(FP), R1;     \
	MOVD top_base+48(FP), R2;     \
	MOVD bottom_base+72(FP), R3;  \
	MOVD c+96(FP), R6;            \
	LSL  $2, R6;                  \
	CONST(1, 29);                 \
	CONST(2, 30);                 \
	CONST(3, 31)

// func pool2x2NEON(dst []float32, idx []uint8, top, bottom []float32, c int)
TEXT ·pool2x2NEON(SB), NOSPLIT, $0-104
	WINDOWS

pixels:
	MOVD R6, R7

channels:
	ADD     R6, R2, R8
	ADD     R6, R3, R9
	VLD1.P  64(R2), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1    (R8), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P  64(R3), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1    (R9), [V20.S4, V21.S4, V22.S4, V23.S4]
	EOR16B(8, 8, 8)
	EOR16B(9, 9, 9)
	EOR16B(10, 10, 10)
	EOR16B(11, 11, 11)
	TAKE(4, 29, 0, 8)
	TAKE(5, 29, 1, 9)
	TAKE(6, 29, 2, 10)
	TAKE(7, 29, 3, 11)
	TAKE(16, 30, 0, 8)
	TAKE(17, 30, 1, 9)
	TAKE(18, 30, 2, 10)
	TAKE(19, 30, 3, 11)
	TAKE(20, 31, 0, 8)
	TAKE(21, 31, 1, 9)
	TAKE(22, 31, 2, 10)
	TAKE(23, 31, 3, 11)
	VST1.P  [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	VUZP1   V9.H8, V8.H8, V8.H8
	VUZP1   V11.H8, V10.H8, V10.H8
	VUZP1   V10.B16, V8.B16, V8.B16
	FMOVQ.P F8, 16(R1)
	SUB     $16, R4
	SUBS    $64, R7
	BNE     channels
	ADD     R6, R2 // past the right half of the windows
	ADD     R6, R3
	CBNZ    R4, pixels
	RET

// GIVE adds the gradients V0 to V3 to 16 channels of the pixel at R8 where the positions V8 to V11 are k.
#define GIVE(k) \
	VLD1 (R8), [V16.S4, V17.S4, V18.S4, V19.S4];  \
	CMEQ4S(k, 8, 4);                              \
	CMEQ4S(k, 9, 5);                              \
	CMEQ4S(k, 10, 6);                             \
	CMEQ4S(k, 11, 7);                             \
	AND16B(4, 0, 4);                              \
	AND16B(5, 1, 5);                              \
	AND16B(6, 2, 6);                              \
	AND16B(7, 3, 7);                              \
	FADD4S(4, 16, 16);                            \
	FADD4S(5, 17, 17);                            \
	FADD4S(6, 18, 18);                            \
	FADD4S(7, 19, 19);                            \
	VST1 [V16.S4, V17.S4, V18.S4, V19.S4], (R8)

// func pool2x2BackwardNEON(dst []float32, idx []uint8, top, bottom []float32, c int)
TEXT ·pool2x2BackwardNEON(SB), NOSPLIT, $0-104
	WINDOWS
	EOR16B(28, 28, 28)

pixels:
	MOVD R6, R7

channels:
	VLD1.P  64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	FMOVQ.P 16(R1), F20
	VUXTL   V20.B8, V21.H8
	VUXTL2  V20.B16, V22.H8
	VUXTL   V21.H4, V8.S4
	VUXTL2  V21.H8, V9.S4
	VUXTL   V22.H4, V10.S4
	VUXTL2  V22.H8, V11.S4
	MOVD    R2, R8
	GIVE(28)
	ADD     R6, R2, R8
	GIVE(29)
	MOVD    R3, R8
	GIVE(30)
	ADD     R6, R3, R8
	GIVE(31)
	ADD     $64, R2
	ADD     $64, R3
	SUB     $16, R4
	SUBS    $64, R7
	BNE     channels
	ADD     R6, R2
	ADD     R6, R3
	CBNZ    R4, pixels
	RET
