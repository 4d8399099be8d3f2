// The exponential and its relatives on four floats, step by step those of act_generic.go with every product and sum fused.

// EXPCONST loads the constants that all of them need: V20 log2e, V21 ln2Hi, V22 ln2Lo, V23 to V27 exp6 to exp2, V28 the integer 127,
// V29 1.
#define EXPCONST \
	CONST(0x3FB8AA3B, 20); \
	CONST(0x3F317200, 21); \
	CONST(0x35BFBE8E, 22); \
	CONST(0x3AB558B4, 23); \
	CONST(0x3C091643, 24); \
	CONST(0x3D2AABCF, 25); \
	CONST(0x3E2AAA55, 26); \
	CONST(0x3EFFFFFF, 27); \
	CONST(127, 28);        \
	CONST(0x3F800000, 29)

// REDUCE sets n to the integer nearest to x*log2e and x to e^r - 1 for r = x - n ln2. It uses s and t, in turns, for the
// polynomial.
#define REDUCE(x, n, s, t) \
	FMUL4S(20, x, n);  \
	FRINTN4S(n, n);    \
	FMLS4S(21, n, x);  \
	FMLS4S(22, n, x);  \
	FCVTZS4S(n, n);    \
	ORR16B(24, 24, s); \
	FMLA4S(23, x, s);  \
	ORR16B(25, 25, t); \
	FMLA4S(s, x, t);   \
	ORR16B(26, 26, s); \
	FMLA4S(t, x, s);   \
	ORR16B(27, 27, t); \
	FMLA4S(s, x, t);   \
	FMUL4S(x, x, s);   \
	FMLA4S(s, t, x)

// POWER turns the integers n into 2^n.
#define POWER(n) ADD4S(28, n, n); SHL4S(23, n, n)

// EXP turns x into e^x. V30 is expLow, V31 expHigh.
#define EXPLIMITS CONST(0xC2D00000, 30); CONST(0x42B20000, 31)
#define EXP(x, n, s, t) \
	FMAX4S(30, x, x);   \
	FMIN4S(31, x, x);   \
	REDUCE(x, n, s, t); \
	SSHR4S(1, n, s);    \
	SUB4S(s, n, n);     \
	POWER(s);           \
	POWER(n);           \
	ORR16B(s, s, t);    \
	FMLA4S(s, x, t);    \
	FMUL4S(n, t, x)

// SIGMOID turns x into 1/(1+e^-x). V30 is sigmoidLow, V31 sigmoidHigh.
#define SIGMOIDLIMITS CONST(0xC2AE0000, 30); CONST(0x42B08000, 31)
#define SIGMOID(x, n, s, t) \
	FNEG4S(x, x);       \
	FMAX4S(30, x, x);   \
	FMIN4S(31, x, x);   \
	REDUCE(x, n, s, t); \
	POWER(n);           \
	ORR16B(n, n, s);    \
	FMLA4S(n, x, s);    \
	FADD4S(29, s, s);   \
	FDIV4S(s, 29, x)

// TANH turns x into its hyperbolic tangent. V17 is the sign bit, V18 2, V19 tanhHigh; it uses sign as well.
#define TANHCONST CONST(0x80000000, 17); CONST(0x40000000, 18); CONST(0x41200000, 19)
#define TANH(x, n, s, t, sign) \
	AND16B(17, x, sign); \
	FABS4S(x, x);        \
	FMIN4S(19, x, x);    \
	FADD4S(x, x, x);     \
	REDUCE(x, n, s, t);  \
	POWER(n);            \
	FSUB4S(29, n, s);    \
	FMLA4S(n, x, s);     \
	FADD4S(18, s, n);    \
	FDIV4S(n, s, x);     \
	ORR16B(sign, x, x)

// TERM turns x <= 0 into e^x, or 0 below softmaxLow, which is V30; it uses k as well.
#define TERMLIMIT CONST(0xC2700000, 30)
#define TERM(x, n, s, t, k) \
	FCMGT4S(x, 30, k);  \
	FMAX4S(30, x, x);   \
	REDUCE(x, n, s, t); \
	POWER(n);           \
	ORR16B(n, n, s);    \
	FMLA4S(n, x, s);    \
	BIC16B(k, s, x)
