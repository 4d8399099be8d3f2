package bench

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// ScaleFigure draws the rows of the suite scale: the time of a client and memory
// against the number that grows.
func (r *Report) ScaleFigure() (*figure.Figure, error) {
	rows := map[crowd]Result{}
	for _, x := range r.Results {
		if x.Suite == "scale" && x.Name == scaleModel && x.Round != nil {
			rows[crowd{x.Round.Cohort, x.Round.Clients, x.Round.Trials}] = x
		}
	}
	if len(rows) == 0 {
		return nil, errors.New("nothing to plot: the suite scale did not run")
	}
	f := &figure.Figure{
		Name: "scale", Title: "Cost per client as the federation grows",
		Note: fmt.Sprintf("%s, one step of %d samples per client; %s, %s, level %s, %s", scaleModel, scaleBatch, r.Machine.CPU, oneline.Count(r.Machine.Cores, "core"), r.Machine.Level, r.Date),
	}
	x := figure.Axis{Label: "clients or trials", Log: true}
	for _, p := range []struct {
		title, label string
		of           func(Result) float64
	}{
		{"worker time per client", "time, ms", func(x Result) float64 { return 1e3 * x.Round.ClientSeconds }},
		{"peak memory of the process", "memory, MB", func(x Result) float64 { return memoryOf(x) / 1e6 }},
	} {
		panel := figure.Panel{Title: p.title, X: x, Y: figure.Axis{Label: p.label, Zero: true}}
		for _, s := range sweeps {
			line := figure.Line{Name: s.label}
			for _, c := range s.shapes {
				if row, ok := rows[c]; ok {
					line.Points = append(line.Points, figure.Point{X: float64(s.grows(c)), Y: p.of(row)})
				}
			}
			panel.Lines = append(panel.Lines, line)
		}
		f.Panels = append(f.Panels, panel)
	}
	return f, nil
}

// memoryOf is the memory that the system sees, or, where it does not tell, that of
// the objects.
func memoryOf(x Result) float64 {
	if x.Round.RSS > 0 {
		return float64(x.Round.RSS)
	}
	return float64(x.Round.Heap)
}

// grows returns the number of c that the sweep changes.
func (s sweep) grows(c crowd) int {
	first, last := s.shapes[0], s.shapes[len(s.shapes)-1]
	switch {
	case first.cohort != last.cohort:
		return c.cohort
	case first.clients != last.clients:
		return c.clients
	}
	return c.trials
}
