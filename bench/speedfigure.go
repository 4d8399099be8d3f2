package bench

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// SpeedFigure draws how fast each network trains beside PyTorch in its best configuration, as
// first measured: other batches and optimizers are left out.
func (r *Report) SpeedFigure() (*figure.Figure, error) {
	type speeds struct {
		row                     Result  // the first of the network
		fp32, bf16, torch, best float64 // samples a second
	}
	all := map[string]*speeds{}
	for _, x := range r.Results {
		if !slices.ContainsFunc(x.Torch, func(v Rival) bool { return v.Error == "" }) {
			continue
		}
		s := all[x.Name]
		if s == nil {
			s = &speeds{row: x}
			all[x.Name] = s
		}
		if !s.row.alike(&x) {
			continue
		}
		switch x.Precision {
		case "fp32":
			s.fp32 = x.SamplesPerSecond
		case "bf16":
			s.bf16 = x.SamplesPerSecond
		}
		for _, v := range x.Torch {
			if s.best = max(s.best, v.SamplesPerSecond); v.Precision == "fp32" {
				s.torch = max(s.torch, v.SamplesPerSecond)
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("nothing to plot: neither the suite scale nor a comparison with PyTorch ran")
	}
	var names []string
	for name := range all {
		names = append(names, name)
	}
	gain := func(name string) float64 { return max(all[name].fp32, all[name].bf16) / all[name].best }
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(gain(b), gain(a)), cmp.Compare(a, b)) })
	panel := figure.Panel{X: figure.Axis{Label: "network", Names: names}, Y: figure.Axis{Label: "speed, times PyTorch's best", Zero: true}}
	for _, l := range []struct {
		name string
		of   func(*speeds) float64
	}{
		{"fedfast bf16", func(s *speeds) float64 { return s.bf16 }},
		{"fedfast fp32", func(s *speeds) float64 { return s.fp32 }},
		{"PyTorch, its best", func(s *speeds) float64 { return s.best }},
		{"PyTorch fp32", func(s *speeds) float64 { return s.torch }},
	} {
		line := figure.Line{Name: l.name}
		for i, name := range names {
			if y := l.of(all[name]); y > 0 {
				line.Points = append(line.Points, figure.Point{X: float64(i + 1), Y: y / all[name].best})
			}
		}
		panel.Lines = append(panel.Lines, line)
	}
	return &figure.Figure{
		Name: "speed", Title: "Training speed beside PyTorch", Width: 1000, Height: 260, Panels: []figure.Panel{panel},
		Note: fmt.Sprintf("%s, %s, level %s, %s", r.Machine.CPU, oneline.Count(r.Machine.Cores, "core"), r.Machine.Level, r.Date),
	}, nil
}

// Figure draws the suite scale, or without it how fast networks are beside PyTorch.
func (r *Report) Figure() (*figure.Figure, error) {
	if f, err := r.ScaleFigure(); err == nil {
		return f, nil
	}
	return r.SpeedFigure()
}
