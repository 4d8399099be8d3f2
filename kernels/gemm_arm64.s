//go:build !purego

#include "go_asm.h"
#include "textflag.h"
#include "neon_arm64.h"

// A tile holds row i of C in V(4i) to V(4i+3). V24 to V29 hold elements of A, V30 and V31 half a row of B at a time.

// MUL adds to column quad c of each row its element of A, lane l, times the quad b of B. The numeral is the number of rows.
#define MUL1(l, b, c) FMLA4SL(24, l, b, c)
#define MUL2(l, b, c) MUL1(l, b, c); FMLA4SL(25, l, b, c+4)
#define MUL3(l, b, c) MUL2(l, b, c); FMLA4SL(26, l, b, c+8)
#define MUL4(l, b, c) MUL3(l, b, c); FMLA4SL(27, l, b, c+12)
#define MUL5(l, b, c) MUL4(l, b, c); FMLA4SL(28, l, b, c+16)
#define MUL6(l, b, c) MUL5(l, b, c); FMLA4SL(29, l, b, c+20)

// ROWS points R19 to R24 at the rows of A, R5 bytes apart.
#define ROWS1 MOVD R1, R19
#define ROWS2 ROWS1; ADD R5, R19, R20
#define ROWS3 ROWS2; ADD R5, R20, R21
#define ROWS4 ROWS3; ADD R5, R21, R22
#define ROWS5 ROWS4; ADD R5, R22, R23
#define ROWS6 ROWS5; ADD R5, R23, R24

// NEXT moves the rows of A on by R6 bytes, to the next segment.
#define NEXT1 ADD R6, R19
#define NEXT2 NEXT1; ADD R6, R20
#define NEXT3 NEXT2; ADD R6, R21
#define NEXT4 NEXT3; ADD R6, R22
#define NEXT5 NEXT4; ADD R6, R23
#define NEXT6 NEXT5; ADD R6, R24

// FOUR loads four elements of each row of A.
#define FOUR1 FMOVQ.P 16(R19), F24
#define FOUR2 FOUR1; FMOVQ.P 16(R20), F25
#define FOUR3 FOUR2; FMOVQ.P 16(R21), F26
#define FOUR4 FOUR3; FMOVQ.P 16(R22), F27
#define FOUR5 FOUR4; FMOVQ.P 16(R23), F28
#define FOUR6 FOUR5; FMOVQ.P 16(R24), F29

// ONE loads one element of each row of A.
#define ONE1 FMOVS.P 4(R19), F24
#define ONE2 ONE1; FMOVS.P 4(R20), F25
#define ONE3 ONE2; FMOVS.P 4(R21), F26
#define ONE4 ONE3; FMOVS.P 4(R22), F27
#define ONE5 ONE4; FMOVS.P 4(R23), F28
#define ONE6 ONE5; FMOVS.P 4(R24), F29

// ZERO clears the tile.
#define ZEROROW(c) EOR16B(c, c, c); EOR16B(c+1, c+1, c+1); EOR16B(c+2, c+2, c+2); EOR16B(c+3, c+3, c+3)
#define ZERO1 ZEROROW(0)
#define ZERO2 ZERO1; ZEROROW(4)
#define ZERO3 ZERO2; ZEROROW(8)
#define ZERO4 ZERO3; ZEROROW(12)
#define ZERO5 ZERO4; ZEROROW(16)
#define ZERO6 ZERO5; ZEROROW(20)

// BIAS loads row 0 from R4 and copies it to the others.
#define COPYROW(c) ORR16B(0, 0, c); ORR16B(1, 1, c+1); ORR16B(2, 2, c+2); ORR16B(3, 3, c+3)
#define BIAS1 VLD1 (R4), [V0.S4, V1.S4, V2.S4, V3.S4]
#define BIAS2 BIAS1; COPYROW(4)
#define BIAS3 BIAS2; COPYROW(8)
#define BIAS4 BIAS3; COPYROW(12)
#define BIAS5 BIAS4; COPYROW(16)
#define BIAS6 BIAS5; COPYROW(20)

// LOAD and STORE move the tile from and to R14 and the rows behind it, R8 bytes apart.
#define LOAD1 VLD1 (R14), [V0.S4, V1.S4, V2.S4, V3.S4]
#define LOAD2 LOAD1; ADD R8, R14; VLD1 (R14), [V4.S4, V5.S4, V6.S4, V7.S4]
#define LOAD3 LOAD2; ADD R8, R14; VLD1 (R14), [V8.S4, V9.S4, V10.S4, V11.S4]
#define LOAD4 LOAD3; ADD R8, R14; VLD1 (R14), [V12.S4, V13.S4, V14.S4, V15.S4]
#define LOAD5 LOAD4; ADD R8, R14; VLD1 (R14), [V16.S4, V17.S4, V18.S4, V19.S4]
#define LOAD6 LOAD5; ADD R8, R14; VLD1 (R14), [V20.S4, V21.S4, V22.S4, V23.S4]

#define STORE1 VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R14)
#define STORE2 STORE1; ADD R8, R14; VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R14)
#define STORE3 STORE2; ADD R8, R14; VST1 [V8.S4, V9.S4, V10.S4, V11.S4], (R14)
#define STORE4 STORE3; ADD R8, R14; VST1 [V12.S4, V13.S4, V14.S4, V15.S4], (R14)
#define STORE5 STORE4; ADD R8, R14; VST1 [V16.S4, V17.S4, V18.S4, V19.S4], (R14)
#define STORE6 STORE5; ADD R8, R14; VST1 [V20.S4, V21.S4, V22.S4, V23.S4], (R14)

// RELU clears what is below zero; NaN and -0 stay. FMAX would make -0 a 0.
#define CLIP(c) FCMLTZ4S(c, 24); BIC16B(24, c, c)
#define CLIPROW(c) CLIP(c); CLIP(c+1); CLIP(c+2); CLIP(c+3)
#define RELU1 CLIPROW(0)
#define RELU2 RELU1; CLIPROW(4)
#define RELU3 RELU2; CLIPROW(8)
#define RELU4 RELU3; CLIPROW(12)
#define RELU5 RELU4; CLIPROW(16)
#define RELU6 RELU5; CLIPROW(20)

// STEP takes one row of B, at R11, times lane l of the rows of A.
#define STEP(MUL, l) \
	FLDPQ.P 32(R11), (F30, F31); \
	MUL(l, 30, 0);               \
	MUL(l, 31, 1);               \
	FLDPQ.P 32(R11), (F30, F31); \
	MUL(l, 30, 2);               \
	MUL(l, 31, 3)

// ARGS loads the arguments of the NN tile functions from R0. R2 is the panel of B, R3 its tile of C. The bits of R9 are modeBias,
// modeAccumulate and modeReLU.
#define ARGS \
	MOVD nnArgs_a(R0), R1;       \
	MOVD nnArgs_b(R0), R2;       \
	MOVD nnArgs_c(R0), R3;       \
	MOVD nnArgs_bias(R0), R4;    \
	MOVD nnArgs_lda(R0), R5;     \
	MOVD nnArgs_segNext(R0), R6; \
	MOVD nnArgs_k(R0), R7;       \
	MOVD nnArgs_ldc(R0), R8;     \
	MOVD nnArgs_mode(R0), R9;    \
	MOVD nnArgs_panels(R0), R10; \
	MOVD nnArgs_panel(R0), R15

// CHAINS runs the steps of a tile, from its start values to its last sum. STEP(MUL, l) takes one row of B.
#define CHAINS(STEP, MUL, NEXT, FOUR, ONE, segment, quad, tail, single, end) \
	MOVD nnArgs_segs(R0), R13; \
segment:                       \
	LSR  $2, R7, R12;          \
	CBZ  R12, tail;            \
	PCALIGN $32;               \
quad:                          \
	FOUR;                      \
	STEP(MUL, 0);              \
	STEP(MUL, 1);              \
	STEP(MUL, 2);              \
	STEP(MUL, 3);              \
	SUBS $1, R12;              \
	BNE  quad;                 \
tail:                          \
	ANDS $3, R7, R12;          \
	BEQ  end;                  \
single:                        \
	ONE;                       \
	STEP(MUL, 0);              \
	SUBS $1, R12;              \
	BNE  single;               \
end:                           \
	NEXT;                      \
	SUBS $1, R13;              \
	BNE  segment

// NN does the panels left, R10 > 0, one at a time.
#define NN(MUL, ROWS, NEXT, FOUR, ONE, ZERO, BIAS, LOAD, RELU, STORE) \
panel:                   \
	ROWS;                \
	MOVD R2, R11;        \
	TBNZ $0, R9, bias;   \
	TBNZ $1, R9, old;    \
	ZERO;                \
	B    begin;          \
bias:                    \
	BIAS;                \
	ADD  $64, R4;        \
	B    begin;          \
old:                     \
	MOVD R3, R14;        \
	LOAD;                \
begin:                   \
	CHAINS(STEP, MUL, NEXT, FOUR, ONE, segment, quad, tail, single, end); \
	TBZ  $2, R9, store;  \
	RELU;                \
store:                   \
	MOVD R3, R14;        \
	STORE;               \
	ADD  $64, R3;        \
	ADD  R15, R2;        \
	SUBS $1, R10;        \
	BNE  panel

// Tiles of one and two rows take four and two panels at a time: one panel has too few sums to keep the multipliers busy. They hold 16
// quads in V0 to V15, row after row. The panels are at R11, R21, R22 and R23.

#define STEP1X4(MUL, l) \
	FLDPQ.P 32(R11), (F28, F29); \
	FLDPQ.P 32(R11), (F30, F31); \
	FLDPQ.P 32(R21), (F20, F21); \
	FLDPQ.P 32(R21), (F22, F23); \
	MUL(l, 28, 0);               \
	MUL(l, 29, 1);               \
	MUL(l, 30, 2);               \
	MUL(l, 31, 3);               \
	MUL(l, 20, 4);               \
	MUL(l, 21, 5);               \
	MUL(l, 22, 6);               \
	MUL(l, 23, 7);               \
	FLDPQ.P 32(R22), (F28, F29); \
	FLDPQ.P 32(R22), (F30, F31); \
	FLDPQ.P 32(R23), (F20, F21); \
	FLDPQ.P 32(R23), (F22, F23); \
	MUL(l, 28, 8);               \
	MUL(l, 29, 9);               \
	MUL(l, 30, 10);              \
	MUL(l, 31, 11);              \
	MUL(l, 20, 12);              \
	MUL(l, 21, 13);              \
	MUL(l, 22, 14);              \
	MUL(l, 23, 15)

#define STEP2X2(MUL, l) \
	FLDPQ.P 32(R11), (F28, F29); \
	FLDPQ.P 32(R11), (F30, F31); \
	FLDPQ.P 32(R21), (F20, F21); \
	FLDPQ.P 32(R21), (F22, F23); \
	MUL(l, 28, 0);               \
	MUL(l, 29, 1);               \
	MUL(l, 30, 2);               \
	MUL(l, 31, 3);               \
	MUL(l, 20, 4);               \
	MUL(l, 21, 5);               \
	MUL(l, 22, 6);               \
	MUL(l, 23, 7)

#define MUL2X2(l, b, c) FMLA4SL(24, l, b, c); FMLA4SL(25, l, b, c+8)

#define PANELS4 MOVD R2, R11; ADD R15, R11, R21; ADD R15, R21, R22; ADD R15, R22, R23; ADD R15, R23, R2
#define PANELS2 MOVD R2, R11; ADD R15, R11, R21; ADD R15, R21, R2

#define BIAS1X4 \
	VLD1.P 64(R4), [V0.S4, V1.S4, V2.S4, V3.S4];     \
	VLD1.P 64(R4), [V4.S4, V5.S4, V6.S4, V7.S4];     \
	VLD1.P 64(R4), [V8.S4, V9.S4, V10.S4, V11.S4];   \
	VLD1.P 64(R4), [V12.S4, V13.S4, V14.S4, V15.S4]

#define BIAS2X2 \
	VLD1.P 64(R4), [V0.S4, V1.S4, V2.S4, V3.S4]; \
	VLD1.P 64(R4), [V4.S4, V5.S4, V6.S4, V7.S4]; \
	COPYROW(8);                                  \
	ORR16B(4, 4, 12);                            \
	ORR16B(5, 5, 13);                            \
	ORR16B(6, 6, 14);                            \
	ORR16B(7, 7, 15)

#define LOAD1X4 \
	VLD1.P 64(R14), [V0.S4, V1.S4, V2.S4, V3.S4];   \
	VLD1.P 64(R14), [V4.S4, V5.S4, V6.S4, V7.S4];   \
	VLD1.P 64(R14), [V8.S4, V9.S4, V10.S4, V11.S4]; \
	VLD1   (R14), [V12.S4, V13.S4, V14.S4, V15.S4]

#define LOAD2X2 \
	ADD    R8, R14, R25;                            \
	VLD1.P 64(R14), [V0.S4, V1.S4, V2.S4, V3.S4];   \
	VLD1   (R14), [V4.S4, V5.S4, V6.S4, V7.S4];     \
	VLD1.P 64(R25), [V8.S4, V9.S4, V10.S4, V11.S4]; \
	VLD1   (R25), [V12.S4, V13.S4, V14.S4, V15.S4]

#define STORE1X4 \
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R14);   \
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R14);   \
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R14); \
	VST1   [V12.S4, V13.S4, V14.S4, V15.S4], (R14)

#define STORE2X2 \
	ADD    R8, R14, R25;                            \
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R14);   \
	VST1   [V4.S4, V5.S4, V6.S4, V7.S4], (R14);     \
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R25); \
	VST1   [V12.S4, V13.S4, V14.S4, V15.S4], (R25)

// WIDE does panels, count at a time, until fewer are left, and returns if none is. PANELS also moves R2 behind them.
#define WIDE(count, PANELS, STEP, MUL, ROWS, NEXT, FOUR, ONE, BIAS, LOAD, STORE) \
	SUBS $count, R10;        \
	BLT  narrow;             \
wide:                        \
	ROWS;                    \
	PANELS;                  \
	TBNZ $0, R9, wideBias;   \
	TBNZ $1, R9, wideOld;    \
	ZERO4;                   \
	B    wideBegin;          \
wideBias:                    \
	BIAS;                    \
	B    wideBegin;          \
wideOld:                     \
	MOVD R3, R14;            \
	LOAD;                    \
wideBegin:                   \
	CHAINS(STEP, MUL, NEXT, FOUR, ONE, wideSegment, wideQuad, wideTail, wideSingle, wideEnd); \
	TBZ  $2, R9, wideStore;  \
	RELU4;                   \
wideStore:                   \
	MOVD R3, R14;            \
	STORE;                   \
	ADD  $(64*count), R3;    \
	SUBS $count, R10;        \
	BGE  wide;               \
narrow:                      \
	ADDS $count, R10;        \
	BNE  panel;              \
	RET

// func nnNEONx1(args *nnArgs)
TEXT ·nnNEONx1(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	WIDE(4, PANELS4, STEP1X4, MUL1, ROWS1, NEXT1, FOUR1, ONE1, BIAS1X4, LOAD1X4, STORE1X4)
	NN(MUL1, ROWS1, NEXT1, FOUR1, ONE1, ZERO1, BIAS1, LOAD1, RELU1, STORE1)
	RET

// func nnNEONx2(args *nnArgs)
TEXT ·nnNEONx2(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	WIDE(2, PANELS2, STEP2X2, MUL2X2, ROWS2, NEXT2, FOUR2, ONE2, BIAS2X2, LOAD2X2, STORE2X2)
	NN(MUL2, ROWS2, NEXT2, FOUR2, ONE2, ZERO2, BIAS2, LOAD2, RELU2, STORE2)
	RET

// func nnNEONx3(args *nnArgs)
TEXT ·nnNEONx3(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	NN(MUL3, ROWS3, NEXT3, FOUR3, ONE3, ZERO3, BIAS3, LOAD3, RELU3, STORE3)
	RET

// func nnNEONx4(args *nnArgs)
TEXT ·nnNEONx4(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	NN(MUL4, ROWS4, NEXT4, FOUR4, ONE4, ZERO4, BIAS4, LOAD4, RELU4, STORE4)
	RET

// func nnNEONx5(args *nnArgs)
TEXT ·nnNEONx5(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	NN(MUL5, ROWS5, NEXT5, FOUR5, ONE5, ZERO5, BIAS5, LOAD5, RELU5, STORE5)
	RET

// func nnNEONx6(args *nnArgs)
TEXT ·nnNEONx6(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	ARGS
	NN(MUL6, ROWS6, NEXT6, FOUR6, ONE6, ZERO6, BIAS6, LOAD6, RELU6, STORE6)
	RET

// COL loads the elements of a row of A, at R1, that go with the rows of the tile: the first four, or two, into V24, the rest into V25.
#define COL1 FMOVS (R1), F24
#define COL2 FMOVD (R1), F24
#define COL3 FMOVD (R1), F24; FMOVS 8(R1), F25
#define COL4 FMOVQ (R1), F24
#define COL5 FMOVQ (R1), F24; FMOVS 16(R1), F25
#define COL6 FMOVQ (R1), F24; FMOVD 16(R1), F25

// OUT adds to column quad c of each row its element of A times the quad b of G.
#define OUT1(b, c) FMLA4SL(24, 0, b, c)
#define OUT2(b, c) OUT1(b, c); FMLA4SL(24, 1, b, c+4)
#define OUT3(b, c) OUT2(b, c); FMLA4SL(25, 0, b, c+8)
#define OUT4(b, c) OUT2(b, c); FMLA4SL(24, 2, b, c+8); FMLA4SL(24, 3, b, c+12)
#define OUT5(b, c) OUT4(b, c); FMLA4SL(25, 0, b, c+16)
#define OUT6(b, c) OUT5(b, c); FMLA4SL(25, 1, b, c+20)

// TN is the body of the TN tile functions, with args in R0. R2 is the panel of G, R3 the tile of C, whose rows are 64 bytes apart.
#define TN(COL, OUT, ZERO, LOAD, STORE) \
	MOVD tnArgs_g(R0), R2;           \
	MOVD tnArgs_c(R0), R3;           \
	MOVD tnArgs_lda(R0), R4;         \
	MOVD tnArgs_ldg(R0), R5;         \
	MOVD tnArgs_aNext(R0), R6;       \
	MOVD tnArgs_gNext(R0), R7;       \
	MOVD tnArgs_m(R0), R9;           \
	MOVD tnArgs_panels(R0), R10;     \
	MOVD tnArgs_panel(R0), R15;      \
	MOVD tnArgs_accumulate(R0), R20; \
	MOVD $64, R8;                    \
panel:                               \
	MOVD tnArgs_a(R0), R1;           \
	MOVD tnArgs_segs(R0), R13;       \
	MOVD R2, R11;                    \
	CBNZ R20, accumulate;            \
	ZERO;                            \
	B    segment;                    \
accumulate:                          \
	MOVD R3, R14;                    \
	LOAD;                            \
segment:                             \
	MOVD R9, R12;                    \
	PCALIGN $32;                     \
row:                                 \
	COL;                             \
	FLDPQ (R11), (F28, F29);         \
	FLDPQ 32(R11), (F30, F31);       \
	OUT(28, 0);                      \
	OUT(29, 1);                      \
	OUT(30, 2);                      \
	OUT(31, 3);                      \
	ADD  R4, R1;                     \
	ADD  R5, R11;                    \
	SUBS $1, R12;                    \
	BNE  row;                        \
	ADD  R6, R1;                     \
	ADD  R7, R11;                    \
	SUBS $1, R13;                    \
	BNE  segment;                    \
	MOVD R3, R14;                    \
	STORE;                           \
	ADD  $64, R2;                    \
	ADD  R15, R3;                    \
	SUBS $1, R10;                    \
	BNE  panel

// func tnNEONx1(args *tnArgs)
TEXT ·tnNEONx1(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(COL1, OUT1, ZERO1, LOAD1, STORE1)
	RET

// func tnNEONx2(args *tnArgs)
TEXT ·tnNEONx2(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(COL2, OUT2, ZERO2, LOAD2, STORE2)
	RET

// func tnNEONx3(args *tnArgs)
TEXT ·tnNEONx3(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(COL3, OUT3, ZERO3, LOAD3, STORE3)
	RET

// func tnNEONx4(args *tnArgs)
TEXT ·tnNEONx4(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(COL4, OUT4, ZERO4, LOAD4, STORE4)
	RET

// func tnNEONx5(args *tnArgs)
TEXT ·tnNEONx5(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(COL5, OUT5, ZERO5, LOAD5, STORE5)
	RET

// func tnNEONx6(args *tnArgs)
TEXT ·tnNEONx6(SB), NOSPLIT, $0-8
	MOVD args+0(FP), R0
	TN(COL6, OUT6, ZERO6, LOAD6, STORE6)
	RET

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
