// Sums in 16 lanes, V0 to V3.

#define ZERO16 EOR16B(0, 0, 0); EOR16B(1, 1, 1); EOR16B(2, 2, 2); EOR16B(3, 3, 3)

// TREE16 adds each half of the lanes to the other half until one is left, lane 0 of V0.
#define TREE16 \
	FADD4S(2, 0, 0);                   \
	FADD4S(3, 1, 1);                   \
	FADD4S(1, 0, 0);                   \
	VEXT $8, V0.B16, V0.B16, V1.B16;   \
	FADD4S(1, 0, 0);                   \
	VEXT $4, V0.B16, V0.B16, V1.B16;   \
	FADD4S(1, 0, 0)
