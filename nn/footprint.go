package nn

import (
	"cmp"

	"github.com/fedfast/fedfast/tensor"
)

// WorkspaceBytes returns how many bytes a workspace takes, before one is made. With
// hessian it includes what products with the Hessian need. batch is the largest batch,
// which batch normalization goes by; 0 is 64. Of what takes more than
// tensor.MostCounted floats it says less than the whole.
func (m *Model) WorkspaceBytes(batch int, hessian bool) int64 {
	bytes := 4 * (m.counted(batch) + int64(m.Size()))
	if hessian {
		bytes += 4 * int64(m.Size())
		if m.precision != FP32 {
			bytes += m.WithPrecision(FP32).WorkspaceBytes(batch, false)
		}
	}
	return bytes
}

// counted returns the floats that the arena of a workspace is asked for.
func (m *Model) counted(batch int) (floats int64) {
	arena, chunk := tensor.Counting(), m.chunk()
	if m.whole() {
		chunk = max(chunk, cmp.Or(batch, 64))
	}
	defer func() {
		if p := recover(); p != nil {
			if p != any(tensor.ErrUncounted) {
				panic(p)
			}
			floats = max(int64(arena.Asked()), 2*int64(chunk)*int64(m.nodes.floats(m.groups)))
		}
	}()
	m.lay(arena, chunk)
	return int64(arena.Asked())
}
