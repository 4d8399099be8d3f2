// What the products of split pairs have in common. Their tiles have up to four rows. But for NT, V16 to V19 hold elements of the rows of
// A's high halves, V20 to V23 those of the low ones, from the second plane, R17 bytes behind the first, and V24 and V25 pairs of B.
//
// They must have the modes of VDPBF16PS, which takes numbers below the normal ones as zeros and flushes a result that is below them after
// rounding. With FZ of FPCR, NEON does the former, but decides before rounding: where the exact result is at most half a unit, 2^-151,
// below 2^-126, it gives 0 and not 2^-126. By Arm's manual, flushing a result, other than an operand, sets UFC of FPSR, and nothing else
// does with FZ. So a tile is computed with FZ, and where UFC is set then, again, exactly, before it is stored: without FZ, and with a
// second multiply-add, of 2^24 times the sum and a factor. That one has room below, and so is rounded as if there were no least exponent.
// If it is below 2^-102, the first result is made 0; if not, the first one is right, as rounding at 2^-149 takes what is that close to
// 2^-126 there, too. Where 2^24 times a number is infinite, one term is a multiple of 2^-36: the first result is the other term, if that
// one is 0, or not close to 2^-126.

// SAVE keeps the modes in the frame, of 16 bytes. FLUSHING sets FZ alone, and clears UFC; emulators are faster if IXC, of inexact results,
// is set already. No barrier is needed: instructions see, and change, FPCR and FPSR in their order. Signals save and restore both.
#define SAVE \
	MRS  FPCR, R16;                  \
	MOVD R16, fpcr-8(SP);            \
	MRS  FPSR, R16;                  \
	MOVD R16, fpsr-16(SP);           \
	MOVD $(4*const_splitApart), R17; \
	CONST(0xffff0000, 28);           \
	CONST(0x7fffffff, 29);           \
	CONST(0x0c800000, 30);           \
	CONST(0x4b800000, 31);           \
	FLUSHING

#define FLUSHING \
	MOVD $(1<<24), R16; \
	MSR  R16, FPCR;     \
	MOVD $(1<<4), R16;  \
	MSR  R16, FPSR

#define RESTORE \
	MOVD fpcr-8(SP), R16;  \
	MSR  R16, FPCR;        \
	MOVD fpsr-16(SP), R16; \
	MSR  R16, FPSR

// FLUSHED branches to where a tile is computed again if a result was flushed.
#define FLUSHED(again) \
	MRS  FPSR, R16; \
	TBNZ $3, R16, again

#define EXACTLY MSR ZR, FPCR

// PRODUCTS adds the products with lane l, where MUL has one, of two quads of pairs to the column quads c and c+1 of the rows, those of
// the low halves to quads low further on.
#define PRODUCTS(MUL, l, c, low) \
	AND16B(28, 24, 26);    \
	AND16B(28, 25, 27);    \
	MUL(16, l, 26, c);     \
	MUL(16, l, 27, c+1);   \
	SHL4S(16, 24, 24);     \
	SHL4S(16, 25, 25);     \
	MUL(20, l, 24, c+low); \
	MUL(20, l, 25, c+1+low)

// SPLIT adds the products with a row of B, at R11. EXACTLYSPLIT does so exactly.
#define SPLIT(MUL, l, low) \
	FLDPQ (R11), (F24, F25);   \
	PRODUCTS(MUL, l, 0, low);  \
	FLDPQ 32(R11), (F24, F25); \
	PRODUCTS(MUL, l, 2, low)

#define EXACTLYSPLIT(MUL, l, low) \
	FMOVQ (R11), F24;       \
	EXACTS(MUL, l, 0, low); \
	FMOVQ 16(R11), F24;     \
	EXACTS(MUL, l, 1, low); \
	FMOVQ 32(R11), F24;     \
	EXACTS(MUL, l, 2, low); \
	FMOVQ 48(R11), F24;     \
	EXACTS(MUL, l, 3, low)

// ZEROS(d) makes zeros of what is below 2^-126 in d, where V27 has 2^24 times the numbers.
#define ZEROS(d) FACGT4S(27, 30, 27); AND16B(29, 27, 27); BIC16B(27, d, d)

// FLUSH does so for numbers as they are.
#define FLUSH(d) FMUL4S(31, d, 27); ZEROS(d)
#define FLUSHROW(c) FLUSH(c); FLUSH(c+1); FLUSH(c+2); FLUSH(c+3)
#define FLUSH1 FLUSHROW(0)
#define FLUSH2 FLUSH1; FLUSHROW(4)
#define FLUSH3 FLUSH2; FLUSHROW(8)
#define FLUSH4 FLUSH3; FLUSHROW(12)

// EXACT adds to quad c of a row the products of lane l of x and the quad b, of which V26 has 2^24 times the numbers.
#define EXACT(x, l, b, c) FMUL4S(31, c, 27); FMLA4SL(x, l, b, c); FMLA4SL(x, l, 26, 27); ZEROS(c)

// EXACTS does what PRODUCTS does for the quad of pairs in V24. MUL consists of EXACT.
#define EXACTS(MUL, l, c, low) \
	AND16B(28, 24, 25); \
	FLUSH(25);          \
	FMUL4S(31, 25, 26); \
	MUL(16, l, 25, c);  \
	SHL4S(16, 24, 25);  \
	FLUSH(25);          \
	FMUL4S(31, 25, 26); \
	MUL(20, l, 25, c+low)
