package bench

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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
		return nil, errors.New("nothing to plot: no comparison with PyTorch ran")
	}
	names := slices.Collect(maps.Keys(all))
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
	return r.networks("speed", "Training speed beside PyTorch", panel), nil
}

// LimitFigure draws which share of the machine's limit a training step of each network
// reaches: the median of its batches and optimizers.
func (r *Report) LimitFigure() (*figure.Figure, error) {
	precisions := []string{"fp32", "bf16"}
	all := map[string]map[string][]float64{} // by name and precision
	for _, x := range r.Results {
		if x.Suite != "nn" || x.RooflineFraction <= 0 {
			continue
		}
		if all[x.Name] == nil {
			all[x.Name] = map[string][]float64{}
		}
		p := cmp.Or(x.Precision, precisions[0])
		all[x.Name][p] = append(all[x.Name][p], x.RooflineFraction)
	}
	if len(all) == 0 {
		return nil, errors.New("nothing to plot: neither the suite scale nor steps of networks were measured")
	}
	share := func(name, precision string) float64 { return median(all[name][precision]) }
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(share(b, precisions[0]), share(a, precisions[0])), cmp.Compare(a, b))
	})
	panel := figure.Panel{X: figure.Axis{Label: "network", Names: names}, Y: figure.Axis{Label: "share of the limit", Zero: true}}
	for _, p := range precisions {
		line := figure.Line{Name: p}
		for i, name := range names {
			if len(all[name][p]) > 0 {
				line.Points = append(line.Points, figure.Point{X: float64(i + 1), Y: share(name, p)})
			}
		}
		if len(line.Points) > 0 {
			panel.Lines = append(panel.Lines, line)
		}
	}
	return r.networks("limit", "Training steps beside the machine's limit", panel), nil
}

// networks returns the figure of a panel of networks.
func (r *Report) networks(name, title string, panel figure.Panel) *figure.Figure {
	return &figure.Figure{
		Name: name, Title: title, Width: 1000, Height: 260, Panels: []figure.Panel{panel},
		Note: fmt.Sprintf("%s, %s, level %s, %s", r.Machine.CPU, oneline.Count(r.Machine.Cores, "core"), r.Machine.Level, r.Date),
	}
}

// Figure draws the suite scale, or without it how fast networks are beside PyTorch, or
// without that beside the machine's limit.
func (r *Report) Figure() (*figure.Figure, error) {
	for _, draw := range []func() (*figure.Figure, error){r.ScaleFigure, r.SpeedFigure} {
		if f, err := draw(); err == nil {
			return f, nil
		}
	}
	return r.LimitFigure()
}
