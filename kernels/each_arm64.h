// Loops over slices. A body is a macro of the instruction that moves its floats and of their size in bytes: it runs on four floats at
// a time (FMOVQ, 16) and then on one at a time (FMOVS, 4), which leaves zeros in the other lanes. Its moves advance the pointers.

// EACH runs BODY on R3 > 0 floats. The labels are parameters so that a function can hold two loops.
#define EACH(BODY, four, rest, one, done) \
	SUBS $4, R3;     \
	BLT  rest;       \
four:                \
	BODY(FMOVQ, 16); \
	SUBS $4, R3;     \
	BGE  four;       \
rest:                \
	ADDS $4, R3;     \
	BEQ  done;       \
one:                 \
	BODY(FMOVS, 4);  \
	SUBS $1, R3;     \
	BNE  one;        \
done:

// CONST puts the number with the given bits into all lanes of register v. It uses R26.
#define CONST(bits, v) MOVD $bits, R26; DUPW4S(26, v)

// PAD copies the R2 < 16 floats at R0 to the 64 bytes at R5, whose other floats stay, and leaves R0 there. It uses R6, R7 and F31.
#define PAD(next) \
	MOVD R5, R6;         \
	MOVD R2, R7;         \
next:                    \
	FMOVS.P 4(R0), F31;  \
	FMOVS.P F31, 4(R6);  \
	SUBS $1, R7;         \
	BNE  next;           \
	MOVD R5, R0
