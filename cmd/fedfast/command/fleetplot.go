package command

import (
	"fmt"

	"github.com/fedfast/fedfast/internal/figure"
)

// figure draws the shares of clients up to each speed and time, and those available.
func (s *fleetSummary) figure() *figure.Figure {
	upTo := func(x quantity) figure.Line {
		line := figure.Line{Name: x.Name}
		const points = 200
		for i := range min(points, len(x.sorted)) + 1 {
			level := float64(i) / float64(min(points, len(x.sorted)))
			line.Points = append(line.Points, figure.Point{X: x.at(level), Y: level})
		}
		return line
	}
	panel := func(title, label string, quantities ...quantity) figure.Panel {
		p := figure.Panel{Title: title, X: figure.Axis{Label: label, Log: true}, Y: figure.Axis{Label: "share of clients", Zero: true}}
		for _, x := range quantities {
			if x.sorted[0] > 0 {
				p.Lines = append(p.Lines, upTo(x))
			}
		}
		return p
	}
	there := figure.Line{Name: "available"}
	for q, x := range s.Available {
		there.Points = append(there.Points, figure.Point{X: float64(q) / 4, Y: x})
	}
	return &figure.Figure{
		Name: "fleet", Title: fmt.Sprintf("%d clients: devices %s, availability %s", s.Clients, s.Devices, s.Availability),
		Panels: []figure.Panel{
			panel("Speed (cumulative)", "speed, GFLOP/s", s.Quantities[0]),
			panel("Links (cumulative)", "link, MB/s", s.Quantities[1:3]...),
			panel("Times (cumulative)", "time, s", s.Quantities[3:]...),
			{Title: "Available", X: figure.Axis{Label: "time, hours"}, Y: figure.Axis{Label: "share of clients", Zero: true}, Lines: []figure.Line{there}},
		},
	}
}
