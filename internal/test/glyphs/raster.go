package glyphs

import "math"

// coverage collects exact pixel coverages of polygons: cell x of a row holds the
// change of the covered area from pixel x-1 to pixel x. The last column takes what
// falls off the right side.
type coverage [Side][Side + 1]float64

// fill adds the area of p, which must lie within the image. Contours that turn
// from x to y count positive.
func (c *coverage) fill(p *polygons) {
	start := 0
	for _, end := range p.ends {
		a := p.points[end-1]
		for _, b := range p.points[start:end] {
			c.edge(a, b)
			a = b
		}
		start = end
	}
}

// edge adds the area to the right of the edge from a to b, row by row.
func (c *coverage) edge(a, b point) {
	sign := -1.0
	if a.y > b.y {
		a, b, sign = b, a, 1
	}
	if a.y == b.y {
		return
	}
	slope := (b.x - a.x) / (b.y - a.y)
	x, y := a.x, a.y
	for row := int(a.y); row < Side && y < b.y; row++ {
		bottom := min(float64(row+1), b.y)
		next := b.x
		if bottom < b.y {
			next = min(max(a.x+float64(slope*(bottom-a.y)), 0), Side)
		}
		c.slice(row, x, next, sign*(bottom-y))
		x, y = next, bottom
	}
}

// slice adds an edge of signed height h between x0 and x1 within one row, pixel by
// pixel.
func (c *coverage) slice(row int, x0, x1, h float64) {
	if x0 > x1 {
		x0, x1 = x1, x0
	}
	line := &c[row]
	width := x1 - x0
	for x := x0; ; {
		col := min(int(x), Side-1)
		stop := min(float64(col+1), x1)
		part := h
		if width > 0 {
			part = float64(h*(stop-x)) / width
		}
		right := float64(part * ((x+stop)/2 - float64(col)))
		line[col] += part - right
		line[col+1] += right
		if stop >= x1 {
			return
		}
		x = stop
	}
}

// resolve turns changes into coverages in [0, 1] and clears c. Where contours
// overlap the coverage stops at 1; where thinning turned a contour inside out it
// stops at 0.
func (c *coverage) resolve(dst *[Side][Side]float64) {
	for y := range c {
		var sum float64
		for x := range dst[y] {
			sum += c[y][x]
			dst[y][x] = min(max(sum, 0), 1)
		}
	}
	*c = coverage{}
}

// offset moves the vertices of p outwards by d along their normals, which makes
// strokes 2d wider (thinner when d is negative), and writes the result to dst.
func (p *polygons) offset(dst []point, d float64) []point {
	dst = dst[:0]
	start := 0
	for _, end := range p.ends {
		contour := p.points[start:end]
		n := len(contour)
		for i, q := range contour {
			before := normal(contour[(i+n-1)%n], q)
			after := normal(q, contour[(i+1)%n])
			sum := point{before.x + after.x, before.y + after.y}
			// The mitre's factor is 2/|sum|^2; it is bounded at sharp corners.
			length := float64(sum.x*sum.x) + float64(sum.y*sum.y)
			k := 2 * d / max(length, 1.2)
			dst = append(dst, point{q.x + float64(k*sum.x), q.y + float64(k*sum.y)})
		}
		start = end
	}
	return dst
}

// normal returns the outward unit normal of the edge from a to b.
func normal(a, b point) point {
	dx, dy := b.x-a.x, b.y-a.y
	length := math.Sqrt(float64(dx*dx) + float64(dy*dy))
	if length == 0 {
		return point{}
	}
	return point{dy / length, -dx / length}
}
