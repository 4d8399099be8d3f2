package nn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
)

// SHA256 returns the SHA-256, in hexadecimal, of the tensors that Export makes of packed
// weights, in the order of their names as little-endian float32. It is the same for every
// CPU level. A constant that a layer adds to a parameter, which ExportFolded folds in, is no
// part of it.
func (m *Model) SHA256(w []float32) string {
	h := sha256.New()
	m.check(w)
	const part = 1 << 14 // floats at a time
	bytes := make([]byte, 0, 4*part)
	for t := range m.byName(w, false) {
		for some := range slices.Chunk(t.Data, part) {
			bytes = bytes[:0]
			for _, v := range some {
				bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(v))
			}
			h.Write(bytes)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
