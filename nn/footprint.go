package nn

import "github.com/fedfast/fedfast/tensor"

// WorkspaceBytes returns how many bytes a workspace takes, before one is made. With
// hessian it includes what products with the Hessian need. Of what takes more than
// tensor.MostCounted floats it says less than the whole.
func (m *Model) WorkspaceBytes(hessian bool) int64 {
	bytes := 4 * (m.counted() + int64(m.Size()))
	if hessian {
		bytes += 4 * (m.withTangents().counted() + int64(m.Size()))
	}
	return bytes
}

// counted returns the floats that the arena of a workspace is asked for.
func (m *Model) counted() (floats int64) {
	arena := tensor.Counting()
	defer func() {
		if p := recover(); p != nil {
			if p != any(tensor.ErrUncounted) {
				panic(p)
			}
			floats = max(int64(arena.Asked()), 2*int64(m.chunk())*int64(m.nodes.floats(m.groups)))
		}
	}()
	m.lay(arena, m.chunk())
	return int64(arena.Asked())
}
