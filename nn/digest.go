package nn

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/fedfast/fedfast/tensor"
)

// SHA256 returns the SHA-256, in hexadecimal, of the tensors that Export makes of packed
// weights, in the order of their names as little-endian float32. It is the same for every
// CPU level. A constant that a layer adds to a parameter, which ExportFolded folds in, is no
// part of it.
func (m *Model) SHA256(w []float32) string {
	h := sha256.New()
	m.check(w)
	for t := range m.byName(w, false) {
		h.Write(tensor.LittleEndian(t.Data))
	}
	return hex.EncodeToString(h.Sum(nil))
}
