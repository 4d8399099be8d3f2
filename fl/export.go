package fl

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/nn"
)

// WeightsSHA256 returns the SHA-256, in hexadecimal, of the model's tensors in
// their canonical layout and name order as little-endian float32. It is the
// same for every CPU level and number of workers. A constant that a layer adds to
// a parameter, which safetensors.Write folds in, is no part of it.
func WeightsSHA256(m *nn.Model, weights []float32) string {
	h := sha256.New()
	tensors := m.Export(weights)
	slices.SortFunc(tensors, func(a, b nn.Tensor) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range tensors {
		for part := range slices.Chunk(t.Data, vectorPart) {
			h.Write(littleEndian(part))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

func littleEndian(x []float32) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
