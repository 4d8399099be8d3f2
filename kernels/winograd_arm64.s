//go:build !purego

#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"

// Two vectors, eight floats, in neighbouring registers; the operands are the first ones. DIFF(m, n, d) is d = n - m.
#define SUM(m, n, d) FADD4S(m, n, d); FADD4S((m)+1, (n)+1, (d)+1)
#define DIFF(m, n, d) FSUB4S(m, n, d); FSUB4S((m)+1, (n)+1, (d)+1)

// PLANE stores V20 and V21 at R10, which it moves to the next plane.
#define PLANE VST1 [V20.S4, V21.S4], (R10); ADD R6, R10

// NEXT moves R8 and R9 to the next pixel.
#define NEXT ADD R5, R8; ADD R5, R9

// REST turns the channels in R7 into bytes, and sets R13 to what is left of two pixels behind them, and R14, the distance between
// tiles, to what is left of that.
#define REST \
	LSL $6, R7;      \
	SUB R7, R14;     \
	SUB R7, R5, R13; \
	ADD R5, R13

// OUT writes a row of a transformed tile: the four pixels in V0, V2, V4 and V6 times B.
#define OUT \
	DIFF(4, 0, 20); \
	PLANE;          \
	SUM(4, 2, 20);  \
	PLANE;          \
	DIFF(2, 4, 20); \
	PLANE;          \
	DIFF(6, 2, 20); \
	PLANE

// ROW writes a row of a transformed tile from OP of its rows p and q.
#define ROW(OP, p, q) \
	MOVD p, R8;                  \
	MOVD q, R9;                  \
	VLD1 (R8), [V0.S4, V1.S4];   \
	VLD1 (R9), [V16.S4, V17.S4]; \
	OP(16, 0, 0);                \
	NEXT;                        \
	VLD1 (R8), [V2.S4, V3.S4];   \
	VLD1 (R9), [V16.S4, V17.S4]; \
	OP(16, 2, 2);                \
	NEXT;                        \
	VLD1 (R8), [V4.S4, V5.S4];   \
	VLD1 (R9), [V16.S4, V17.S4]; \
	OP(16, 4, 4);                \
	NEXT;                        \
	VLD1 (R8), [V6.S4, V7.S4];   \
	VLD1 (R9), [V16.S4, V17.S4]; \
	OP(16, 6, 6);                \
	OUT

// func winogradInputNEON(dst, r0, r1, r2, r3 *float32, tiles, channels, pixel, ld, plane int)
TEXT ·winogradInputNEON(SB), NOSPLIT, $0-80
	MOVD dst+0(FP), R0
	MOVD r0+8(FP), R1
	MOVD r1+16(FP), R2
	MOVD r2+24(FP), R3
	MOVD r3+32(FP), R4
	MOVD tiles+40(FP), R12
	MOVD channels+48(FP), R7
	MOVD pixel+56(FP), R5
	MOVD ld+64(FP), R14
	MOVD plane+72(FP), R6
	REST

tile:
	MOVD R7, R11

channel:
	MOVD R0, R10
	ROW(DIFF, R1, R3)
	ROW(SUM, R2, R3)
	ROW(DIFF, R3, R2)
	ROW(DIFF, R2, R4)
	ADD  $32, R0
	ADD  $32, R1
	ADD  $32, R2
	ADD  $32, R3
	ADD  $32, R4
	SUBS $32, R11
	BNE  channel
	ADD  R14, R0
	ADD  R13, R1
	ADD  R13, R2
	ADD  R13, R3
	ADD  R13, R4
	SUBS $1, R12
	BNE  tile
	RET

// SPREAD writes a row of a tile from the row's left and right pixel.
#define SPREAD(left, right) \
	ORR16B(left, left, 20);             \
	ORR16B((left)+1, (left)+1, 21);     \
	PLANE;                              \
	SUM(right, left, 20);               \
	PLANE;                              \
	DIFF(right, left, 20);              \
	PLANE;                              \
	ORR16B(right, right, 20);           \
	ORR16B((right)+1, (right)+1, 21);   \
	PLANE

// func winogradSpreadNEON(dst, r0, r1 *float32, tiles, channels, pixel, ld, plane int)
TEXT ·winogradSpreadNEON(SB), NOSPLIT, $0-64
	MOVD dst+0(FP), R0
	MOVD r0+8(FP), R1
	MOVD r1+16(FP), R2
	MOVD tiles+24(FP), R12
	MOVD channels+32(FP), R7
	MOVD pixel+40(FP), R5
	MOVD ld+48(FP), R14
	MOVD plane+56(FP), R6
	REST

tile:
	MOVD R7, R11

channel:
	ADD  R5, R1, R8
	ADD  R5, R2, R9
	VLD1 (R1), [V0.S4, V1.S4]
	VLD1 (R2), [V6.S4, V7.S4]
	VLD1 (R8), [V8.S4, V9.S4]
	VLD1 (R9), [V14.S4, V15.S4]
	SUM(6, 0, 2)
	DIFF(6, 0, 4)
	SUM(14, 8, 10)
	DIFF(14, 8, 12)
	MOVD R0, R10
	SPREAD(0, 8)
	SPREAD(2, 10)
	SPREAD(4, 12)
	SPREAD(6, 14)
	ADD  $32, R0
	ADD  $32, R1
	ADD  $32, R2
	SUBS $32, R11
	BNE  channel
	ADD  R14, R0
	ADD  R13, R1
	ADD  R13, R2
	SUBS $1, R12
	BNE  tile
	RET

// TAKE loads V16 and V17 from R10 and moves that to the next plane.
#define TAKE VLD1 (R10), [V16.S4, V17.S4]; ADD R6, R10

// STORE adds the bias, V22 and V23, to V20 and V21, sets what is below zero to zero where V30 has ones, and stores them at r.
#define STORE(r) \
	SUM(22, 20, 20);           \
	FCMLTZ4S(20, 24);          \
	FCMLTZ4S(21, 25);          \
	AND16B(30, 24, 24);        \
	AND16B(30, 25, 25);        \
	BIC16B(24, 20, 20);        \
	BIC16B(25, 21, 21);        \
	VST1 [V20.S4, V21.S4], (r)

// PIXELS stores the left and the right pixel of a row from the columns s0 to s3 of the sums, at r and a pixel behind.
#define PIXELS(s0, s1, s2, s3, r) \
	SUM(s1, s0, 20);   \
	SUM(s2, 20, 20);   \
	STORE(r);          \
	ADD R5, r, R8;     \
	DIFF(s2, s1, 20);  \
	DIFF(s3, 20, 20);  \
	STORE(R8)

// func winogradOutputNEON(r0, r1, src, bias *float32, tiles, channels, pixel, ld, plane, relu int)
TEXT ·winogradOutputNEON(SB), NOSPLIT, $0-80
	MOVD r0+0(FP), R1
	MOVD r1+8(FP), R2
	MOVD src+16(FP), R0
	MOVD tiles+32(FP), R12
	MOVD channels+40(FP), R7
	MOVD pixel+48(FP), R5
	MOVD ld+56(FP), R14
	MOVD plane+64(FP), R6
	MOVD relu+72(FP), R9
	NEG  R9, R9
	DUPW4S(9, 30)
	REST

tile:
	MOVD R7, R11
	MOVD bias+24(FP), R3

channel:
	MOVD   R0, R10
	VLD1   (R10), [V0.S4, V1.S4]
	ADD    R6, R10
	VLD1   (R10), [V2.S4, V3.S4]
	ADD    R6, R10
	VLD1   (R10), [V4.S4, V5.S4]
	ADD    R6, R10
	VLD1   (R10), [V6.S4, V7.S4]
	ADD    R6, R10
	VLD1   (R10), [V8.S4, V9.S4]
	ADD    R6, R10
	VLD1   (R10), [V10.S4, V11.S4]
	ADD    R6, R10
	VLD1   (R10), [V12.S4, V13.S4]
	ADD    R6, R10
	VLD1   (R10), [V14.S4, V15.S4]
	ADD    R6, R10
	SUM(8, 0, 0)
	SUM(10, 2, 2)
	SUM(12, 4, 4)
	SUM(14, 6, 6)
	TAKE
	SUM(16, 0, 0)
	DIFF(16, 8, 8)
	TAKE
	SUM(16, 2, 2)
	DIFF(16, 10, 10)
	TAKE
	SUM(16, 4, 4)
	DIFF(16, 12, 12)
	TAKE
	SUM(16, 6, 6)
	DIFF(16, 14, 14)
	TAKE
	DIFF(16, 8, 8)
	TAKE
	DIFF(16, 10, 10)
	TAKE
	DIFF(16, 12, 12)
	TAKE
	DIFF(16, 14, 14)
	VLD1.P 32(R3), [V22.S4, V23.S4]
	PIXELS(0, 2, 4, 6, R1)
	PIXELS(8, 10, 12, 14, R2)
	ADD    $32, R0
	ADD    $32, R1
	ADD    $32, R2
	SUBS   $32, R11
	BNE    channel
	ADD    R14, R0
	ADD    R13, R1
	ADD    R13, R2
	SUBS   $1, R12
	BNE    tile
	RET

// WEIGHTS multiplies the column a, b, c by G: a and c stay, and plus and minus are in between. V31 holds 1/2.
#define WEIGHTS(a, b, c, plus, minus) \
	FADD4S(c, a, 20);         \
	FADD4S(b, 20, plus);      \
	FSUB4S(b, 20, minus);     \
	FMUL4S(31, plus, plus);   \
	FMUL4S(31, minus, minus)

// GIVE stores register f at R11, which it moves to the next plane.
#define GIVE(f) FMOVQ f, (R11); ADD R3, R11

// func winogradWeightsNEON(dst, src *float32, vectors, dstPlane, srcPlane int)
TEXT ·winogradWeightsNEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD vectors+16(FP), R2
	MOVD dstPlane+24(FP), R3
	MOVD srcPlane+32(FP), R4
	LSL  $2, R2
	CONST(0x3f000000, 31)

vector:
	// Column x of the kernel is in registers x, 3+x and 6+x.
	MOVD  R1, R8
	FMOVQ (R8), F0
	ADD   R4, R8
	FMOVQ (R8), F1
	ADD   R4, R8
	FMOVQ (R8), F2
	ADD   R4, R8
	FMOVQ (R8), F3
	ADD   R4, R8
	FMOVQ (R8), F4
	ADD   R4, R8
	FMOVQ (R8), F5
	ADD   R4, R8
	FMOVQ (R8), F6
	ADD   R4, R8
	FMOVQ (R8), F7
	ADD   R4, R8
	FMOVQ (R8), F8
	WEIGHTS(0, 3, 6, 9, 12)
	WEIGHTS(1, 4, 7, 10, 13)
	WEIGHTS(2, 5, 8, 11, 14)
	MOVD  R0, R11
	WEIGHTS(0, 1, 2, 16, 17)
	GIVE(F0)
	GIVE(F16)
	GIVE(F17)
	GIVE(F2)
	WEIGHTS(9, 10, 11, 16, 17)
	GIVE(F9)
	GIVE(F16)
	GIVE(F17)
	GIVE(F11)
	WEIGHTS(12, 13, 14, 16, 17)
	GIVE(F12)
	GIVE(F16)
	GIVE(F17)
	GIVE(F14)
	WEIGHTS(6, 7, 8, 16, 17)
	GIVE(F6)
	GIVE(F16)
	GIVE(F17)
	GIVE(F8)
	ADD   $16, R0
	ADD   $16, R1
	SUBS  $1, R2
	BNE   vector
	RET

// GRADIENT multiplies the column a, b, c, d, the last of them with its sign turned, by the transpose of G, into a, b and c.
#define GRADIENT(a, b, c, d) \
	FADD4S(c, b, 20);   \
	FSUB4S(c, b, b);    \
	FMUL4S(31, 20, 20); \
	FMUL4S(31, b, b);   \
	FADD4S(20, a, a);   \
	FSUB4S(d, 20, c)

// FETCH loads register f from R8 and moves that to the next plane.
#define FETCH(f) FMOVQ (R8), f; ADD R4, R8

// func winogradGradientNEON(dst, src *float32, vectors, dstPlane, srcPlane int)
TEXT ·winogradGradientNEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD vectors+16(FP), R2
	MOVD dstPlane+24(FP), R3
	MOVD srcPlane+32(FP), R4
	LSL  $2, R2
	CONST(0x3f000000, 31)

vector:
	MOVD R1, R8
	FETCH(F0)
	FETCH(F1)
	FETCH(F2)
	FETCH(F3)
	FETCH(F4)
	FETCH(F5)
	FETCH(F6)
	FETCH(F7)
	FETCH(F8)
	FETCH(F9)
	FETCH(F10)
	FETCH(F11)
	FETCH(F12)
	FETCH(F13)
	FETCH(F14)
	FETCH(F15)
	GRADIENT(0, 4, 8, 12)
	GRADIENT(1, 5, 9, 13)
	GRADIENT(2, 6, 10, 14)
	GRADIENT(3, 7, 11, 15)
	GRADIENT(0, 1, 2, 3)
	GRADIENT(4, 5, 6, 7)
	GRADIENT(8, 9, 10, 11)
	MOVD R0, R11
	GIVE(F0)
	GIVE(F1)
	GIVE(F2)
	GIVE(F4)
	GIVE(F5)
	GIVE(F6)
	GIVE(F8)
	GIVE(F9)
	GIVE(F10)
	ADD  $16, R0
	ADD  $16, R1
	SUBS $1, R2
	BNE  vector
	RET
