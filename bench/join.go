package bench

import (
	"fmt"
	"slices"
)

// Join makes one report of several that the same machine wrote, each of other rows or
// against another PyTorch. A row is compared with all that any report measured of the
// same, in whatever precision.
func Join(reports ...*Report) (*Report, error) {
	all := *reports[0]
	all.Results, all.Torch = nil, nil
	peaks := []float64{}
	for _, r := range reports {
		a, b := all.Machine, r.Machine
		if a.CPU != b.CPU || a.Cores != b.Cores || a.Level != b.Level || a.Arch != b.Arch {
			return nil, fmt.Errorf("bench: reports of different machines: %s with %d cores at level %s, and %s with %d at %s", a.CPU, a.Cores, a.Level, b.CPU, b.Cores, b.Level)
		}
		for _, t := range r.Torch {
			if !slices.ContainsFunc(all.Torch, func(have TorchInfo) bool { return have.Version == t.Version }) {
				all.Torch = append(all.Torch, t)
			}
		}
		peaks = append(peaks, r.PeakGFLOPS)
		all.Results = append(all.Results, r.Results...)
	}
	all.PeakGFLOPS = median(peaks)
	for i := range all.Results {
		x := &all.Results[i]
		own := x.Torch
		x.Torch, x.Ratio = nil, 0
		x.compare(own...)
		for _, r := range reports {
			for _, y := range r.Results {
				if x.alike(&y) {
					x.compareMore(y.Torch)
				}
			}
		}
	}
	gains(all.Results)
	return &all, nil
}

// alike says that two rows measure the same, in whatever precision.
func (r *Result) alike(x *Result) bool {
	return r.Suite == x.Suite && r.Name == x.Name && r.Shape == x.Shape && r.Batch == x.Batch && r.Optimizer == x.Optimizer && r.Threads == x.Threads
}

// compareMore adds those rivals that the row lacks.
func (r *Result) compareMore(rivals []Rival) {
	for _, v := range rivals {
		if !slices.ContainsFunc(r.Torch, func(w Rival) bool {
			return w.Version == v.Version && w.Precision == v.Precision && w.Threads == v.Threads && w.Processes == v.Processes
		}) {
			r.compare(v)
		}
	}
}
