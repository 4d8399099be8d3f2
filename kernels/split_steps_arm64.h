// The steps of products of split pairs whose A has its terms side by side, for up to four rows.

// PAIR adds to column quad c of each row its element, lane l of the registers from x on, times the quad b.
#define PAIR1(x, l, b, c) FMLA4SL(x, l, b, c)
#define PAIR2(x, l, b, c) PAIR1(x, l, b, c); FMLA4SL(x+1, l, b, c+4)
#define PAIR3(x, l, b, c) PAIR2(x, l, b, c); FMLA4SL(x+2, l, b, c+8)
#define PAIR4(x, l, b, c) PAIR3(x, l, b, c); FMLA4SL(x+3, l, b, c+12)

#define EXACT1(x, l, b, c) EXACT(x, l, b, c)
#define EXACT2(x, l, b, c) EXACT1(x, l, b, c); EXACT(x+1, l, b, c+4)
#define EXACT3(x, l, b, c) EXACT2(x, l, b, c); EXACT(x+2, l, b, c+8)
#define EXACT4(x, l, b, c) EXACT3(x, l, b, c); EXACT(x+3, l, b, c+12)

// HALVES points R19 to R22 at the rows of A's high halves, R5 bytes apart, and R23 to R26 at the low ones.
#define HALVES1 ROWS1; ADD R17, R19, R23
#define HALVES2 HALVES1; ADD R5, R19, R20; ADD R17, R20, R24
#define HALVES3 HALVES2; ADD R5, R20, R21; ADD R17, R21, R25
#define HALVES4 HALVES3; ADD R5, R21, R22; ADD R17, R22, R26

// PAST moves them on by R6 bytes, to the next segment.
#define PAST1 ADD R6, R19; ADD R6, R23
#define PAST2 PAST1; ADD R6, R20; ADD R6, R24
#define PAST3 PAST2; ADD R6, R21; ADD R6, R25
#define PAST4 PAST3; ADD R6, R22; ADD R6, R26

// QUAD loads four elements of each row of A, NUMBER one.
#define QUAD1 FMOVQ.P 16(R19), F16; FMOVQ.P 16(R23), F20
#define QUAD2 QUAD1; FMOVQ.P 16(R20), F17; FMOVQ.P 16(R24), F21
#define QUAD3 QUAD2; FMOVQ.P 16(R21), F18; FMOVQ.P 16(R25), F22
#define QUAD4 QUAD3; FMOVQ.P 16(R22), F19; FMOVQ.P 16(R26), F23

#define NUMBER1 FMOVS.P 4(R19), F16; FMOVS.P 4(R23), F20
#define NUMBER2 NUMBER1; FMOVS.P 4(R20), F17; FMOVS.P 4(R24), F21
#define NUMBER3 NUMBER2; FMOVS.P 4(R21), F18; FMOVS.P 4(R25), F22
#define NUMBER4 NUMBER3; FMOVS.P 4(R22), F19; FMOVS.P 4(R26), F23

// NORMAL flushes these elements, of four rows: a register without one is not read.
#define NORMAL FLUSHROW(16); FLUSHROW(20)
#define QUADX1 QUAD1; NORMAL
#define QUADX2 QUAD2; NORMAL
#define QUADX3 QUAD3; NORMAL
#define QUADX4 QUAD4; NORMAL
#define NUMBERX1 NUMBER1; NORMAL
#define NUMBERX2 NUMBER2; NORMAL
#define NUMBERX3 NUMBER3; NORMAL
#define NUMBERX4 NUMBER4; NORMAL
