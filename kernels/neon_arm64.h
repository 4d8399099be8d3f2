// Vector instructions that Go's assembler does not know, as words. Operands are register numbers, in the assembler's order: the
// destination d comes last, and n is the first source of the manual, m the second, so that FSUB4S(m, n, d) is d = n - m.
// internal/test/asmcheck decodes every macro.

// Four floats.
#define FADD4S(m, n, d)      WORD $(0x4E20D400 | (m)<<16 | (n)<<5 | (d))
#define FSUB4S(m, n, d)      WORD $(0x4EA0D400 | (m)<<16 | (n)<<5 | (d))
#define FMUL4S(m, n, d)      WORD $(0x6E20DC00 | (m)<<16 | (n)<<5 | (d))
#define FDIV4S(m, n, d)      WORD $(0x6E20FC00 | (m)<<16 | (n)<<5 | (d))
#define FMAX4S(m, n, d)      WORD $(0x4E20F400 | (m)<<16 | (n)<<5 | (d))
#define FMIN4S(m, n, d)      WORD $(0x4EA0F400 | (m)<<16 | (n)<<5 | (d))
#define FMLA4S(m, n, d)      WORD $(0x4E20CC00 | (m)<<16 | (n)<<5 | (d))                         // d += n*m
#define FMLS4S(m, n, d)      WORD $(0x4EA0CC00 | (m)<<16 | (n)<<5 | (d))                         // d -= n*m
#define FMLA4SL(m, l, n, d)  WORD $(0x4F801000 | ((l)&1)<<21 | ((l)>>1)<<11 | (m)<<16 | (n)<<5 | (d)) // d += n*m[l]
#define FABS4S(n, d)         WORD $(0x4EA0F800 | (n)<<5 | (d))
#define FNEG4S(n, d)         WORD $(0x6EA0F800 | (n)<<5 | (d))
#define FRINTN4S(n, d)       WORD $(0x4E218800 | (n)<<5 | (d))                                   // to the nearest integer, ties to even
#define FCVTZS4S(n, d)       WORD $(0x4EA1B800 | (n)<<5 | (d))                                   // to int32
#define FMAXV4S(n, d)        WORD $(0x6E30F800 | (n)<<5 | (d))                                   // the largest of four

// Two numbers of 64 bits.
#define FADD2D(m, n, d)      WORD $(0x4E60D400 | (m)<<16 | (n)<<5 | (d))
#define FMLA2D(m, n, d)      WORD $(0x4E60CC00 | (m)<<16 | (n)<<5 | (d))                         // d += n*m
#define FCVTL2D(n, d)        WORD $(0x0E617800 | (n)<<5 | (d))                                   // from the floats in lanes 0 and 1
#define FCVTLH2D(n, d)       WORD $(0x4E617800 | (n)<<5 | (d))                                   // and from those in lanes 2 and 3

// Masks: all ones where the condition holds. NaN is neither greater nor less nor equal.
#define FCMGT4S(m, n, d)     WORD $(0x6EA0E400 | (m)<<16 | (n)<<5 | (d))                         // n > m
#define FACGT4S(m, n, d)     WORD $(0x6EA0EC00 | (m)<<16 | (n)<<5 | (d))                         // |n| > |m|
#define FCMEQ4S(m, n, d)     WORD $(0x4E20E400 | (m)<<16 | (n)<<5 | (d))
#define FCMGTZ4S(n, d)       WORD $(0x4EA0C800 | (n)<<5 | (d))                                   // n > 0
#define FCMLTZ4S(n, d)       WORD $(0x4EA0E800 | (n)<<5 | (d))                                   // n < 0
#define CMEQ4S(m, n, d)      WORD $(0x6EA08C00 | (m)<<16 | (n)<<5 | (d))                         // integers
#define CMTST4S(m, n, d)     WORD $(0x4EA08C00 | (m)<<16 | (n)<<5 | (d))                         // n & m is not 0
#define CMHS4S(m, n, d)      WORD $(0x6EA03C00 | (m)<<16 | (n)<<5 | (d))                         // n >= m without sign

// Bits.
#define AND16B(m, n, d)      WORD $(0x4E201C00 | (m)<<16 | (n)<<5 | (d))
#define BIC16B(m, n, d)      WORD $(0x4E601C00 | (m)<<16 | (n)<<5 | (d))                         // n &^ m
#define ORR16B(m, n, d)      WORD $(0x4EA01C00 | (m)<<16 | (n)<<5 | (d))                         // with m = n: a copy
#define ORN16B(m, n, d)      WORD $(0x4EE01C00 | (m)<<16 | (n)<<5 | (d))                         // n | ^m
#define EOR16B(m, n, d)      WORD $(0x6E201C00 | (m)<<16 | (n)<<5 | (d))
#define BIT16B(m, n, d)      WORD $(0x6EA01C00 | (m)<<16 | (n)<<5 | (d))                         // bits of n into d where m has ones

// Four integers.
#define ADD4S(m, n, d)       WORD $(0x4EA08400 | (m)<<16 | (n)<<5 | (d))
#define SUB4S(m, n, d)       WORD $(0x6EA08400 | (m)<<16 | (n)<<5 | (d))
#define SHL4S(s, n, d)       WORD $(0x4F005400 | (32+(s))<<16 | (n)<<5 | (d))
#define SSHR4S(s, n, d)      WORD $(0x4F000400 | (64-(s))<<16 | (n)<<5 | (d))                    // with the sign
#define USHR4S(s, n, d)      WORD $(0x6F000400 | (64-(s))<<16 | (n)<<5 | (d))                    // without the sign
#define SRI4S(s, n, d)       WORD $(0x6F004400 | (64-(s))<<16 | (n)<<5 | (d))                    // and the upper s bits of d stay
#define UMULL2D(m, n, d)     WORD $(0x2EA0C000 | (m)<<16 | (n)<<5 | (d))                         // 64-bit products of lanes 0 and 1
#define UMULLH2D(m, n, d)    WORD $(0x6EA0C000 | (m)<<16 | (n)<<5 | (d))                         // and of lanes 2 and 3

// Copies and permutations.
#define DUPW4S(n, d)         WORD $(0x4E040C00 | (n)<<5 | (d))                                   // general register n in all lanes
#define DUPL4S(l, n, d)      WORD $(0x4E040400 | (l)<<19 | (n)<<5 | (d))                         // lane l in all lanes
