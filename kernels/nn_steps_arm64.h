// The steps of NN products. V24 to V29 hold elements of the rows of A, V30 and V31 half a row of B at a time.

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

// BIAS loads row 0 from R4 and copies it to the others.
#define COPYROW(c) ORR16B(0, 0, c); ORR16B(1, 1, c+1); ORR16B(2, 2, c+2); ORR16B(3, 3, c+3)
#define BIAS1 VLD1 (R4), [V0.S4, V1.S4, V2.S4, V3.S4]
#define BIAS2 BIAS1; COPYROW(4)
#define BIAS3 BIAS2; COPYROW(8)
#define BIAS4 BIAS3; COPYROW(12)
#define BIAS5 BIAS4; COPYROW(16)
#define BIAS6 BIAS5; COPYROW(20)

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

// TERMS runs R7 steps of a tile. STEP(MUL, l) takes one row of B.
#define TERMS(STEP, MUL, FOUR, ONE, quad, tail, single, end) \
	LSR  $2, R7, R12; \
	CBZ  R12, tail;   \
	PCALIGN $32;      \
quad:                 \
	FOUR;             \
	STEP(MUL, 0);     \
	STEP(MUL, 1);     \
	STEP(MUL, 2);     \
	STEP(MUL, 3);     \
	SUBS $1, R12;     \
	BNE  quad;        \
tail:                 \
	ANDS $3, R7, R12; \
	BEQ  end;         \
single:               \
	ONE;              \
	STEP(MUL, 0);     \
	SUBS $1, R12;     \
	BNE  single;      \
end:

// CHAINS runs the steps of a tile, from its start values to its last sum.
#define CHAINS(STEP, MUL, NEXT, FOUR, ONE, segment, quad, tail, single, end) \
	MOVD nnArgs_segs(R0), R13; \
segment:                       \
	TERMS(STEP, MUL, FOUR, ONE, quad, tail, single, end) \
	NEXT;                      \
	SUBS $1, R13;              \
	BNE  segment
