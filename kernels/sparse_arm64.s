//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"
#include "tile_arm64.h"

// V26 holds the value of an entry in lane 0, V28 to V31 16 floats that it multiplies. Sums are in V0 and up: 16 channels of a pixel of
// the kernel in four registers, c the first of them.

// ADDTO adds the value times the 16 floats at R15+at.
#define ADDTO(at, c) \
	FLDPQ  at(R15), (F28, F29);    \
	FLDPQ  at+32(R15), (F30, F31); \
	FMLA4SL(26, 0, 28, c);       \
	FMLA4SL(26, 0, 29, c+1);     \
	FMLA4SL(26, 0, 30, c+2);     \
	FMLA4SL(26, 0, 31, c+3)

// The pixels of a row of the input's patch, R2 bytes apart: columns x groups.
#define PATCH3X2 \
	ADDTO(0, 0); ADDTO(64, 4); ADD R2, R15; \
	ADDTO(0, 8); ADDTO(64, 12); ADD R2, R15; \
	ADDTO(0, 16); ADDTO(64, 20)
#define PATCH3X1 ADDTO(0, 0); ADD R2, R15; ADDTO(0, 4); ADD R2, R15; ADDTO(0, 8)
#define PATCH5X1 PATCH3X1; ADD R2, R15; ADDTO(0, 12); ADD R2, R15; ADDTO(0, 16)

// The pixels of a row of the kernel, one behind the other.
#define KERNEL3X2 ADDTO(0, 0); ADDTO(64, 4); ADDTO(128, 8); ADDTO(192, 12); ADDTO(256, 16); ADDTO(320, 20)
#define KERNEL3X1 ADDTO(0, 0); ADDTO(64, 4); ADDTO(128, 8)
#define KERNEL5X1 KERNEL3X1; ADDTO(192, 12); ADDTO(256, 16)

// WEIGHTS goes through the lists of filters, with the sums of one in registers.
#define WEIGHTS(PATCH, LOAD, STORE, size) \
	MOVD args+0(FP), R0;                  \
	MOVD sparseWeightsArgs_x(R0), R1;       \
	MOVD sparseWeightsArgs_pixel(R0), R2;   \
	MOVD sparseWeightsArgs_value(R0), R3;   \
	MOVD sparseWeightsArgs_at(R0), R4;      \
	MOVD sparseWeightsArgs_tail(R0), R5;    \
	MOVD sparseWeightsArgs_first(R0), R6;   \
	MOVD sparseWeightsArgs_room(R0), R7;    \
	MOVD sparseWeightsArgs_filters(R0), R9; \
	MOVD sparseWeightsArgs_sums(R0), R10;   \
	MOVD $64, R8;                           \
filter:                                   \
	MOVW (R5), R11;                         \
	SUB  R6, R11;                           \
	CMP  $0, R11;                           \
	BLE  next;                              \
	ADD  R6<<2, R3, R12;                    \
	ADD  R6<<2, R4, R13;                    \
	MOVD R10, R14;                          \
	LOAD;                                   \
entry:                                    \
	MOVWU.P 4(R13), R15;                    \
	ADD     R15<<2, R1, R15;                \
	FMOVS.P 4(R12), F26;                    \
	PATCH;                                  \
	SUBS    $1, R11;                        \
	BNE     entry;                          \
	MOVD    R10, R14;                       \
	STORE;                                  \
next:                                     \
	ADD  $size, R10;                        \
	ADD  R7, R6;                            \
	ADD  $4, R5;                            \
	SUBS $1, R9;                            \
	BNE  filter

// func sparseWeightsNEON3x2(args *sparseWeightsArgs)
TEXT ·sparseWeightsNEON3x2(SB), NOSPLIT, $0-8
	WEIGHTS(PATCH3X2, LOAD6, STORE6, 384)
	RET

// func sparseWeightsNEON3x1(args *sparseWeightsArgs)
TEXT ·sparseWeightsNEON3x1(SB), NOSPLIT, $0-8
	WEIGHTS(PATCH3X1, LOAD3, STORE3, 192)
	RET

// func sparseWeightsNEON5x1(args *sparseWeightsArgs)
TEXT ·sparseWeightsNEON5x1(SB), NOSPLIT, $0-8
	WEIGHTS(PATCH5X1, LOAD5, STORE5, 320)
	RET

// MOVE copies four registers.
#define MOVE4(c, d) ORR16B(c, c, d); ORR16B(c+1, c+1, d+1); ORR16B(c+2, c+2, d+2); ORR16B(c+3, c+3, d+3)

// The columns under the kernel, columns x groups: BEGIN loads all but the last from R14 on, LAST loads the last from R14, CLEAR clears it,
// FIRST stores the first at R1, SHIFT moves the others one to the left, REST stores them from R14 on.
#define BEGIN3X2 \
	VLD1.P 64(R14), [V0.S4, V1.S4, V2.S4, V3.S4];  \
	VLD1   (R14), [V4.S4, V5.S4, V6.S4, V7.S4];    \
	ADD    R2, R1, R14;                            \
	VLD1.P 64(R14), [V8.S4, V9.S4, V10.S4, V11.S4]; \
	VLD1   (R14), [V12.S4, V13.S4, V14.S4, V15.S4]
#define LAST3X2 \
	ADD    R2<<1, R1, R14;                            \
	VLD1.P 64(R14), [V16.S4, V17.S4, V18.S4, V19.S4]; \
	VLD1   (R14), [V20.S4, V21.S4, V22.S4, V23.S4]
#define CLEAR3X2 ZEROROW(16); ZEROROW(20)
#define FIRST3X2 \
	MOVD   R1, R14;                               \
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R14); \
	VST1   [V4.S4, V5.S4, V6.S4, V7.S4], (R14)
#define SHIFT3X2 MOVE4(8, 0); MOVE4(12, 4); MOVE4(16, 8); MOVE4(20, 12)
#define REST3X2 \
	FIRST3X2;                                       \
	ADD    R2, R1, R14;                             \
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R14); \
	VST1   [V12.S4, V13.S4, V14.S4, V15.S4], (R14)

#define BEGIN3X1 VLD1 (R14), [V0.S4, V1.S4, V2.S4, V3.S4]; ADD R2, R14; VLD1 (R14), [V4.S4, V5.S4, V6.S4, V7.S4]
#define LAST3X1 ADD R2<<1, R1, R14; VLD1 (R14), [V8.S4, V9.S4, V10.S4, V11.S4]
#define CLEAR3X1 ZEROROW(8)
#define FIRST1 VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R1)
#define SHIFT3X1 MOVE4(4, 0); MOVE4(8, 4)
#define REST3X1 FIRST1; ADD R2, R1, R14; VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R14)

#define BEGIN5X1 \
	BEGIN3X1;                                                       \
	ADD  R2, R14; VLD1 (R14), [V8.S4, V9.S4, V10.S4, V11.S4];       \
	ADD  R2, R14; VLD1 (R14), [V12.S4, V13.S4, V14.S4, V15.S4]
#define LAST5X1 ADD R2<<2, R1, R14; VLD1 (R14), [V16.S4, V17.S4, V18.S4, V19.S4]
#define CLEAR5X1 ZEROROW(16)
#define SHIFT5X1 SHIFT3X1; MOVE4(12, 8); MOVE4(16, 12)
#define REST5X1 \
	REST3X1;                                                        \
	ADD  R2, R14; VST1 [V8.S4, V9.S4, V10.S4, V11.S4], (R14);       \
	ADD  R2, R14; VST1 [V12.S4, V13.S4, V14.S4, V15.S4], (R14)

// INPUT goes along a row of pixels, with the sums of the pixels under the kernel in registers; ZERO clears them all.
#define INPUT(KERNEL, ZERO, BEGIN, LAST, CLEAR, FIRST, SHIFT, REST, size) \
	MOVD args+0(FP), R0;                 \
	MOVD sparseInputArgs_dx(R0), R1;     \
	MOVD sparseInputArgs_pixel(R0), R2;  \
	MOVD sparseInputArgs_w(R0), R3;      \
	MOVD sparseInputArgs_value(R0), R4;  \
	MOVD sparseInputArgs_filter(R0), R5; \
	MOVD sparseInputArgs_start(R0), R6;  \
	MOVD sparseInputArgs_pixels(R0), R7; \
	MOVD sparseInputArgs_fresh(R0), R8;  \
	MOVD $size, R9;                      \
	MOVW (R6), R10;                      \
	ADD  R10<<2, R4;                     \
	ADD  R10<<2, R5;                     \
	ZERO;                                \
	CBNZ R8, pixel;                      \
	MOVD R1, R14;                        \
	BEGIN;                               \
pixel:                                 \
	CLEAR;                               \
	CBNZ R8, begun;                      \
	LAST;                                \
begun:                                 \
	MOVW (R6), R10;                      \
	MOVW 4(R6), R11;                     \
	SUBS R10, R11;                       \
	BLE  done;                           \
entry:                                 \
	MOVWU.P 4(R5), R15;                  \
	FMOVS.P 4(R4), F26;                  \
	MUL     R9, R15;                     \
	ADD     R3, R15;                     \
	KERNEL;                              \
	SUBS    $1, R11;                     \
	BNE     entry;                       \
done:                                  \
	FIRST;                               \
	SHIFT;                               \
	ADD  R2, R1;                         \
	ADD  $4, R6;                         \
	SUBS $1, R7;                         \
	BNE  pixel;                          \
	REST

// func sparseInputNEON3x2(args *sparseInputArgs)
TEXT ·sparseInputNEON3x2(SB), NOSPLIT, $0-8
	INPUT(KERNEL3X2, ZERO6, BEGIN3X2, LAST3X2, CLEAR3X2, FIRST3X2, SHIFT3X2, REST3X2, 384)
	RET

// func sparseInputNEON3x1(args *sparseInputArgs)
TEXT ·sparseInputNEON3x1(SB), NOSPLIT, $0-8
	INPUT(KERNEL3X1, ZERO3, BEGIN3X1, LAST3X1, CLEAR3X1, FIRST1, SHIFT3X1, REST3X1, 192)
	RET

// func sparseInputNEON5x1(args *sparseInputArgs)
TEXT ·sparseInputNEON5x1(SB), NOSPLIT, $0-8
	INPUT(KERNEL5X1, ZERO5, BEGIN5X1, LAST5X1, CLEAR5X1, FIRST1, SHIFT5X1, REST5X1, 320)
	RET
