package glyphs

import (
	"math"
	"testing"
)

func area(c *coverage) (grey [Side][Side]float64, sum float64) {
	c.resolve(&grey)
	for _, row := range grey {
		for _, v := range row {
			sum += v
		}
	}
	return grey, sum
}

func TestCoverageOfARectangle(t *testing.T) {
	p := polygons{points: []point{{3.25, 4.5}, {7.5, 4.5}, {7.5, 9}, {3.25, 9}}, ends: []int{4}}
	var c coverage
	c.fill(&p)
	grey, sum := area(&c)
	if math.Abs(sum-4.25*4.5) > 1e-12 {
		t.Errorf("area %v, want %v", sum, 4.25*4.5)
	}
	for _, want := range []struct {
		y, x int
		v    float64
	}{{4, 3, 0.375}, {4, 5, 0.5}, {6, 3, 0.75}, {6, 5, 1}, {6, 7, 0.5}, {9, 5, 0}, {6, 8, 0}} {
		if got := grey[want.y][want.x]; math.Abs(got-want.v) > 1e-12 {
			t.Errorf("pixel (%d,%d): %v, want %v", want.y, want.x, got, want.v)
		}
	}
	if c != (coverage{}) {
		t.Error("resolve left coverage behind")
	}
}

// Random triangles, also on the very border: the covered area is the triangle's,
// and each pixel's coverage agrees with a count of points.
func TestCoverageOfTriangles(t *testing.T) {
	var s stream
	for n := range 200 {
		s.restart(1, 0, 0, n)
		p := polygons{ends: []int{3}}
		for range 3 {
			// Thirds of pixels, from border to border.
			p.points = append(p.points, point{float64(int(s.span(0, 85))) / 3, float64(int(s.span(0, 85))) / 3})
		}
		want, _ := p.measure()
		if want < 0 {
			p.points[0], p.points[1] = p.points[1], p.points[0]
			want = -want
		}
		var c coverage
		c.fill(&p)
		grey, sum := area(&c)
		if math.Abs(sum-want) > 1e-9 {
			t.Fatalf("triangle %v: area %v, want %v", p.points, sum, want)
		}
		const grid = 16
		for y := range grey {
			for x, got := range grey[y] {
				var inside float64
				for k := range grid * grid {
					q := point{float64(x) + (float64(k%grid)+0.5)/grid, float64(y) + (float64(k/grid)+0.5)/grid}
					if within(p.points, q) {
						inside++
					}
				}
				if math.Abs(got-inside/(grid*grid)) > 0.12 {
					t.Fatalf("triangle %v pixel (%d,%d): %v, counted %v", p.points, y, x, got, inside/(grid*grid))
				}
			}
		}
	}
}

func within(p []point, q point) bool {
	for i, a := range p {
		b := p[(i+1)%3]
		if (b.x-a.x)*(q.y-a.y)-(b.y-a.y)*(q.x-a.x) < 0 {
			return false
		}
	}
	return true
}

func TestOffsetGrowsOutwards(t *testing.T) {
	// A square of side 10 with a hole of side 4.
	p := polygons{points: []point{
		{5, 5},
		{15, 5},
		{15, 15},
		{5, 15},
		{8, 8},
		{8, 12},
		{12, 12},
		{12, 8},
	}, ends: []int{4, 8}}
	for _, d := range []float64{-0.5, 0.5, 1} {
		q := polygons{points: p.offset(nil, d), ends: p.ends}
		got, _ := q.measure()
		want := (10+2*d)*(10+2*d) - (4-2*d)*(4-2*d)
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("offset %v: area %v, want %v", d, got, want)
		}
	}
}

// Every outline is centred and encloses a positive area, and the strokes of a face
// are thinner than it is tall.
func TestOutlines(t *testing.T) {
	faces, err := loadFaces()
	if err != nil {
		t.Fatal(err)
	}
	for i := range faces {
		for label := range faces[i] {
			o := &faces[i][label]
			lo, size := o.bounds()
			sum, _ := o.measure()
			if math.Abs(lo.x+size.x/2) > 1e-9 || math.Abs(lo.y+size.y/2) > 1e-9 || sum <= 0 || o.stroke <= 0 || o.stroke > 0.5 ||
				size.y < 0.4 || size.y > 1.7 || size.x > 2.1 {
				t.Errorf("%s %c: box %v at %v, area %v, stroke %v", sources[i].name, alphabet[label], size, lo, sum, o.stroke)
			}
		}
	}
}

func TestExpAndNormal(t *testing.T) {
	for x := -4.0; x <= 4; x += 0.37 {
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 2e-5*want {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	var s stream
	s.restart(5, 1, 2, 3)
	var sum, squares float64
	const n = 20000
	for range n {
		v := s.normal()
		sum += v
		squares += v * v
	}
	if math.Abs(sum/n) > 0.03 || math.Abs(squares/n-1) > 0.05 {
		t.Errorf("mean %v, variance %v, want 0 and 1", sum/n, squares/n)
	}
}

func TestFieldIsSmooth(t *testing.T) {
	var s stream
	s.restart(5, 1, 2, 4)
	var f field
	f.draw(&s)
	const h = 1e-4
	for v := 0.0; v <= 1; v += 0.125 {
		for u := 0.0; u+h <= 1; u += h {
			a, b := f.at(u, v), f.at(u+h, v)
			if math.Abs(a.x-b.x) > 10*h || math.Abs(a.y) > 1 {
				t.Fatalf("field jumps at (%v, %v): %v to %v", u, v, a, b)
			}
		}
	}
}
