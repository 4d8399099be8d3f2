// A tile of a matrix product holds row i of C in V(4i) to V(4i+3). The numeral in a macro's name is the number of rows.

// ZERO clears the tile.
#define ZEROROW(c) EOR16B(c, c, c); EOR16B(c+1, c+1, c+1); EOR16B(c+2, c+2, c+2); EOR16B(c+3, c+3, c+3)
#define ZERO1 ZEROROW(0)
#define ZERO2 ZERO1; ZEROROW(4)
#define ZERO3 ZERO2; ZEROROW(8)
#define ZERO4 ZERO3; ZEROROW(12)
#define ZERO5 ZERO4; ZEROROW(16)
#define ZERO6 ZERO5; ZEROROW(20)

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
