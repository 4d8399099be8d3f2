package nn

// The four gates of an LSTM lie interleaved in blocks of 16 hidden units: 16
// input gates, 16 forget gates, 16 cell candidates, 16 output gates, then the
// next 16 units. One block of 64 pre-activations then holds all that the
// pointwise part of 16 units needs. The canonical layout (PyTorch's) has all
// input gates first, then all forget gates and so on; hidden units are padded to
// a multiple of 16 with zero columns.

// gateRow returns where the packed row k of gate g of hidden unit u starts, for
// a weight of rows rows; a bias has one row.
func gateRow(g, u, k, rows int) int { return ((u/16*4+g)*rows+k)*16 + u%16 }

// packGates writes a canonical [4*hidden, rows] weight as a packed matrix of rows
// rows and 4*Pad(hidden) columns.
func packGates(packed, canonical []float32, rows, hidden int) {
	for g := range 4 {
		for u := range hidden {
			from := canonical[(g*hidden+u)*rows:][:rows]
			for k, v := range from {
				packed[gateRow(g, u, k, rows)] = v
			}
		}
	}
}

// unpackGates is the inverse of packGates.
func unpackGates(canonical, packed []float32, rows, hidden int) {
	for g := range 4 {
		for u := range hidden {
			to := canonical[(g*hidden+u)*rows:][:rows]
			for k := range to {
				to[k] = packed[gateRow(g, u, k, rows)]
			}
		}
	}
}
