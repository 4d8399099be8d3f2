package kernels

// LSTM is the pointwise part of one step of an LSTM layer, for M sequences and H
// hidden units (a multiple of [Width]). A row of gates has 4H floats in blocks of
// 64: 16 input gates, 16 forget gates, 16 candidates and 16 output gates of the
// same 16 units.
//
//	i, f, o = sigmoid of their pre-activations;  g = tanh of its own
//	c = f*CPrev + i*g (fused on assembly levels);  h = o*tanh(c)
type LSTM struct {
	M, H  int
	Gates []float32 // M x 4H: pre-activations in, activations out
	CPrev []float32 // M x H: the cell before the step; nil means zero
	C     []float32 // M x H: the cell, out; may be CPrev itself
	TanhC []float32 // M x H: tanh of the cell, out
	HOut  []float32 // M rows of H floats, Ldh apart: the output
	Ldh   int
}

// LSTMGrad is the backward pass of one step: from the gradients by the output h and
// by the cell c, as the later steps gave it, to those by the pre-activations and by
// the cell before the step.
type LSTMGrad struct {
	M, H   int
	Gates  []float32 // M x 4H: the activations that [LSTMForward] left
	CPrev  []float32 // M x H: the cell before the step; nil means zero
	TanhC  []float32 // M x H
	DH     []float32 // M rows of H floats, Ldh apart: gradient by h
	Ldh    int
	DC     []float32 // M x H: gradient by c in, by CPrev out
	DGates []float32 // M x 4H: gradient by the pre-activations, out, in the order of Gates; may be Gates itself
}

// lstmTable holds the row functions of one level: gates has 4 times the length of
// the others. cPrev is empty if the cell was zero.
type lstmTable struct {
	forward  func(gates, cPrev, c, tanhC, h []float32)
	backward func(dGates, gates, cPrev, tanhC, dh, dc []float32)
}

var lstms lstmTable

const msgLSTM = "kernels: LSTM with a size that is negative or no multiple of Width, Ldh below H, or a slice too short for its shape"

func checkLSTM(m, h, ldh int, rows []float32, gates []float32, cells ...[]float32) {
	ok := m >= 0 && h >= 0 && h%Width == 0 && ldh >= h && len(gates) >= 4*m*h && (m == 0 || len(rows) >= (m-1)*ldh+h)
	for _, c := range cells {
		ok = ok && len(c) >= m*h
	}
	if !ok {
		panic(msgLSTM)
	}
}

// LSTMForward computes the step. It panics if a slice is too short.
func LSTMForward(l *LSTM) {
	checkLSTM(l.M, l.H, l.Ldh, l.HOut, l.Gates, l.C, l.TanhC)
	if l.CPrev != nil && len(l.CPrev) < l.M*l.H {
		panic(msgLSTM)
	}
	if l.H == 0 {
		return
	}
	for i := range l.M {
		lo, hi := i*l.H, (i+1)*l.H
		var prev []float32
		if l.CPrev != nil {
			prev = l.CPrev[lo:hi]
		}
		callLSTMForward(l.Gates[4*lo:4*hi], prev, l.C[lo:hi], l.TanhC[lo:hi], l.HOut[i*l.Ldh:][:l.H])
	}
}

//go:noinline
func callLSTMForward(gates, cPrev, c, tanhC, h []float32) {
	raceRead(cPrev)
	raceWrite(gates)
	raceWrite(c)
	raceWrite(tanhC)
	raceWrite(h)
	lstms.forward(gates, cPrev, c, tanhC, h)
}

// LSTMBackward computes, with every a*b + c fused on assembly levels,
//
//	do = dh*tanhC * (o - o²)
//	dc = dh*o * (1 - tanhC²) + DC
//	di = dc*g * (i - i²);  df = dc*CPrev * (f - f²);  dg = dc*i * (1 - g²);  DC = dc*f
//
// It panics if a slice is too short.
func LSTMBackward(l *LSTMGrad) {
	checkLSTM(l.M, l.H, l.Ldh, l.DH, l.Gates, l.TanhC, l.DC)
	if len(l.DGates) < 4*l.M*l.H || l.CPrev != nil && len(l.CPrev) < l.M*l.H {
		panic(msgLSTM)
	}
	if l.H == 0 {
		return
	}
	for i := range l.M {
		lo, hi := i*l.H, (i+1)*l.H
		var prev []float32
		if l.CPrev != nil {
			prev = l.CPrev[lo:hi]
		}
		callLSTMBackward(l.DGates[4*lo:4*hi], l.Gates[4*lo:4*hi], prev, l.TanhC[lo:hi], l.DH[i*l.Ldh:][:l.H], l.DC[lo:hi])
	}
}

//go:noinline
func callLSTMBackward(dGates, gates, cPrev, tanhC, dh, dc []float32) {
	raceRead(gates)
	raceRead(cPrev)
	raceRead(tanhC)
	raceRead(dh)
	raceWrite(dGates)
	raceWrite(dc)
	lstms.backward(dGates, gates, cPrev, tanhC, dh, dc)
}
