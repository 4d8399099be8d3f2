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
