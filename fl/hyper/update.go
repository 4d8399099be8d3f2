package hyper

// Update has the keys of update.* that a search space can contain.
type Update struct {
	Keep float64 `toml:"keep" tune:"yes" in:"(0, 1]" doc:"share of the values that a client sends with update.sparsify" also:"ratio k density"`
	Bits int     `toml:"bits" tune:"yes" in:"[2, 8]" doc:"bits of a value with update.quantize, of which one is the sign" also:"nbits num_bits"`
}

// Aggregation has the keys of aggregator.* that a search space can contain.
type Aggregation struct {
	Trim  float64 `toml:"trim" tune:"yes" in:"[0, 0.5)" doc:"share of the values of each coordinate that trimmed drops at each end" also:"beta"`
	Wrong float64 `toml:"wrong" tune:"yes" in:"[0, 0.5)" doc:"largest share of a round's clients that krum and multikrum expect to be wrong" also:"f byzantine attackers"`
	Bound float64 `toml:"bound" tune:"yes" in:"(0, 1e9]" doc:"norm to which norm_bound clips each update; required, here or in the search space" also:"clip norm threshold"`
	Steps int     `toml:"steps" tune:"yes" in:"[1, 1000]" doc:"steps of the algorithm of Weiszfeld of rfa" also:"iterations"`
	Least float64 `toml:"least" tune:"yes" in:"(0, 1]" doc:"least distance by which rfa divides" also:"nu smoothing"`
}
