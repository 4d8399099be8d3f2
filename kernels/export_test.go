package kernels

// What tests outside the package need of its inside: the constants of the
// activations.
const (
	Log2e, Ln2Hi, Ln2Lo          = log2e, ln2Hi, ln2Lo
	Exp2, Exp3, Exp4, Exp5, Exp6 = exp2, exp3, exp4, exp5, exp6
	ExpLow, ExpHigh              = expLow, expHigh
	SigmoidLow, SigmoidHigh      = sigmoidLow, sigmoidHigh
	TanhHigh, SoftmaxLow         = tanhHigh, softmaxLow
	ReduceBlock, MapBlock        = reduceBlock, mapBlock
)

// OtherBF16, if there are two, has level AVX512 multiply pairs the other way, by VDPBF16PS or by
// split pairs, until restore is called.
var OtherBF16 func() (restore func())
