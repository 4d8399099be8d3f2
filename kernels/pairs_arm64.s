//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"
#include "each_arm64.h"

// CONSTANTS are what ROUND needs: V26 has the bits of the exponent, V27 one, V28 just below half of a last place of bf16, V29 the sign
// and V30 the bit that makes a NaN quiet; V31 has the upper half.
#define CONSTANTS \
	CONST(0x7f800000, 26); \
	CONST(1, 27);          \
	CONST(0x7fff, 28);     \
	CONST(0x80000000, 29); \
	CONST(0x00400000, 30); \
	CONST(0xffff0000, 31)

// ROUND rounds to bf16, to nearest even; the bits below are any. What is below the normal numbers becomes a zero of its sign.
#define ROUND(x) \
	CMTST4S(26, x, 24); \
	ORR16B(29, 24, 24); \
	AND16B(24, x, x);   \
	USHR4S(16, x, 24);  \
	AND16B(27, 24, 24); \
	ADD4S(28, 24, 24);  \
	ADD4S(x, 24, 24);   \
	FCMEQ4S(x, x, 25);  \
	ORR16B(30, x, x);   \
	BIT16B(25, 24, x)

#define ROUND4(x) ROUND(x); ROUND(x+1); ROUND(x+2); ROUND(x+3)

// GROUPS goes through rows of groups, which GROUP takes from R8 and R9 and leaves in V0 to V3.
#define GROUPS(GROUP) \
	MOVD dst+0(FP), R0;      \
	MOVD src+8(FP), R1;      \
	MOVD other+16(FP), R2;   \
	MOVD step+24(FP), R3;    \
	MOVD dstStep+32(FP), R4; \
	MOVD rows+40(FP), R5;    \
	MOVD groups+48(FP), R6;  \
	CONSTANTS;               \
row:                      \
	MOVD R0, R7;             \
	MOVD R1, R8;             \
	ADD  R2, R1, R9;         \
	MOVD R6, R10;            \
group:                    \
	VLD1.P 64(R8), [V0.S4, V1.S4, V2.S4, V3.S4]; \
	VLD1.P 64(R9), [V4.S4, V5.S4, V6.S4, V7.S4]; \
	ROUND4(0);               \
	ROUND4(4);               \
	GROUP;                   \
	SUBS $1, R10;            \
	BNE  group;              \
	ADD  R3, R1;             \
	ADD  R4, R0;             \
	SUBS $1, R5;             \
	BNE  row

#define PAIR \
	SRI4S(16, 0, 4); \
	SRI4S(16, 1, 5); \
	SRI4S(16, 2, 6); \
	SRI4S(16, 3, 7); \
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R7)

#define JOIN \
	VUZP2 V1.H8, V0.H8, V0.H8; \
	VUZP2 V3.H8, V2.H8, V1.H8; \
	VUZP2 V5.H8, V4.H8, V2.H8; \
	VUZP2 V7.H8, V6.H8, V3.H8; \
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R7)

// func pairNEON(dst, src *float32, other, step, dstStep, rows, groups int)
TEXT ·pairNEON(SB), NOSPLIT, $0-56
	GROUPS(PAIR)
	RET

// func joinNEON(dst, src *float32, other, step, dstStep, rows, groups int)
TEXT ·joinNEON(SB), NOSPLIT, $0-56
	GROUPS(JOIN)
	RET

// func roundNEON(dst, src *float32, groups int)
TEXT ·roundNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD groups+16(FP), R2
	CONSTANTS
group:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	ROUND4(0)
	AND16B(31, 0, 0)
	AND16B(31, 1, 1)
	AND16B(31, 2, 2)
	AND16B(31, 3, 3)
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	SUBS $1, R2
	BNE  group
	RET

// func pairsSplitNEON(dst, src *float32, groups int)
TEXT ·pairsSplitNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD groups+16(FP), R2
	MOVD $(4*const_splitApart), R3
	ADD  R0, R3
	CONSTANTS
group:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	AND16B(31, 0, 4)
	AND16B(31, 1, 5)
	AND16B(31, 2, 6)
	AND16B(31, 3, 7)
	SHL4S(16, 0, 0)
	SHL4S(16, 1, 1)
	SHL4S(16, 2, 2)
	SHL4S(16, 3, 3)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R3)
	SUBS $1, R2
	BNE  group
	RET
