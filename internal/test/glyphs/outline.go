package glyphs

import (
	"fmt"
	"math"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// point is a place on paper; y grows downwards.
type point struct{ x, y float64 }

// polygons are closed contours in one array: contour i ends before ends[i].
type polygons struct {
	points []point
	ends   []int
}

// An outline is a character's contours, finely divided so that they can be bent,
// centred on their bounding box, in units of the face's capital height. Together
// the contours enclose a positive area: outer ones turn from x to y, holes the
// other way.
type outline struct {
	polygons
	size   point   // of the bounding box
	stroke float64 // mean stroke width: twice the area over the perimeter
}

// maxStep is the longest edge of an outline in capital heights.
const maxStep = 0.12

func newOutline(p polygons, unit float64) outline {
	lo, size := p.bounds()
	area, perimeter := p.measure()
	o := outline{
		size:   point{size.x / unit, size.y / unit},
		stroke: 2 * math.Abs(area) / (perimeter * unit),
	}
	start := 0
	for _, end := range p.ends {
		contour := p.points[start:end]
		for i := range contour {
			a, b := contour[i], contour[(i+1)%len(contour)]
			if area < 0 {
				j := len(contour) - 1 - i
				a, b = contour[(j+1)%len(contour)], contour[j]
			}
			a, b = a.normalise(lo, size, unit), b.normalise(lo, size, unit)
			pieces := int(math.Ceil(distance(a, b) / maxStep))
			for k := range pieces { // none when the points coincide
				t := float64(k) / float64(pieces)
				o.points = append(o.points, mix(a, b, t))
			}
		}
		o.ends = append(o.ends, len(o.points))
		start = end
	}
	return o
}

// normalise moves the centre of the box at lo to the origin and divides by unit.
func (p point) normalise(lo, size point, unit float64) point {
	return point{(p.x - lo.x - size.x/2) / unit, (p.y - lo.y - size.y/2) / unit}
}

// mix returns the point a fraction t of the way from a to b.
func mix(a, b point, t float64) point {
	return point{a.x + float64((b.x-a.x)*t), a.y + float64((b.y-a.y)*t)}
}

func distance(a, b point) float64 {
	dx, dy := b.x-a.x, b.y-a.y
	return math.Sqrt(float64(dx*dx) + float64(dy*dy))
}

// bounds returns the corner of least x and y of p's bounding box and its size.
func (p *polygons) bounds() (lo, size point) {
	lo, hi := p.points[0], p.points[0]
	for _, q := range p.points {
		lo.x, lo.y = min(lo.x, q.x), min(lo.y, q.y)
		hi.x, hi.y = max(hi.x, q.x), max(hi.y, q.y)
	}
	return lo, point{hi.x - lo.x, hi.y - lo.y}
}

// measure returns the signed area and the perimeter of p.
func (p *polygons) measure() (area, perimeter float64) {
	start := 0
	for _, end := range p.ends {
		a := p.points[end-1]
		for _, b := range p.points[start:end] {
			area += (float64(a.x*b.y) - float64(b.x*a.y)) / 2
			perimeter += distance(a, b)
			a = b
		}
		start = end
	}
	return area, perimeter
}

// A loader reads the contours of a font's characters.
type loader struct {
	font   *sfnt.Font
	buffer sfnt.Buffer
}

// curveSteps is the number of straight pieces that replace a curve.
const curveSteps = 4

// contours returns the flattened contours of r in font units.
func (l *loader) contours(r rune) (polygons, error) {
	var p polygons
	index, err := l.font.GlyphIndex(&l.buffer, r)
	if err != nil {
		return p, err
	}
	if index == 0 {
		return p, fmt.Errorf("no glyph for %U", r)
	}
	segments, err := l.font.LoadGlyph(&l.buffer, index, fixed.I(int(l.font.UnitsPerEm())), nil)
	if err != nil {
		return p, fmt.Errorf("glyph of %U: %w", r, err)
	}
	for _, s := range segments {
		a, b, c := toPoint(s.Args[0]), toPoint(s.Args[1]), toPoint(s.Args[2])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			p.closeContour()
			p.points = append(p.points, a)
		case sfnt.SegmentOpLineTo:
			p.points = append(p.points, a)
		case sfnt.SegmentOpQuadTo:
			from := p.points[len(p.points)-1]
			for k := 1; k <= curveSteps; k++ {
				t := float64(k) / curveSteps
				p.points = append(p.points, mix(mix(from, a, t), mix(a, b, t), t))
			}
		case sfnt.SegmentOpCubeTo:
			from := p.points[len(p.points)-1]
			for k := 1; k <= curveSteps; k++ {
				t := float64(k) / curveSteps
				ab, bc := mix(from, a, t), mix(a, b, t)
				cd := mix(b, c, t)
				p.points = append(p.points, mix(mix(ab, bc, t), mix(bc, cd, t), t))
			}
		}
	}
	p.closeContour()
	if len(p.points) == 0 {
		return p, fmt.Errorf("the glyph of %U is blank", r)
	}
	return p, nil
}

// closeContour ends the contour under way, if there is one.
func (p *polygons) closeContour() {
	if n := len(p.points); n > 0 && (len(p.ends) == 0 || p.ends[len(p.ends)-1] < n) {
		p.ends = append(p.ends, n)
	}
}

func toPoint(p fixed.Point26_6) point { return point{float64(p.X) / 64, float64(p.Y) / 64} }
