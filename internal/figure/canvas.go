package figure

import (
	"image/color"
	"math"
	"sync"

	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
)

// point is a place on a sheet, in points from its lower left corner.
type point struct{ X, Y float64 }

// rect is a rectangle from its lower left to its upper right corner.
type rect struct{ Min, Max point }

// corners are the corners of the rectangle.
func (r rect) corners() []point { return []point{r.Min, {r.Max.X, r.Min.Y}, r.Max, {r.Min.X, r.Max.Y}} }

// pen is how lines are drawn.
type pen struct {
	color  color.Color
	width  float64
	dashes []float64
}

// align is where a text stands at its place.
type align int

const (
	left align = iota
	center
	right
)

// letters are how a text is written: on its place as base line, or from below to above.
type letters struct {
	color   color.Color
	size    float64
	bold    bool
	align   align
	upright bool
}

// plain are letters without more to say.
func plain(size float64, c color.Color) letters { return letters{color: c, size: size} }

// middle is how far below its middle the base line of a text is.
func (l letters) middle() float64 { return 0.36 * l.size }

// canvas is what is drawn on.
type canvas interface {
	// fill fills polygons as one shape.
	fill(c color.Color, polygons ...[]point)
	// stroke draws a line.
	stroke(p pen, line ...point)
	// circle draws one, filled where the pen has no width.
	circle(p pen, at point, radius float64)
	write(l letters, at point, text string)
}

// fonts are those in which texts are measured, and written in a PNG.
var fonts = sync.OnceValue(func() (parsed [2]*opentype.Font) {
	for i, ttf := range [][]byte{liberationsansregular.TTF, liberationsansbold.TTF} {
		var err error
		if parsed[i], err = opentype.Parse(ttf); err != nil {
			panic(err) // it is embedded
		}
	}
	return parsed
})

// face returns a font in a size in pixels.
func face(size float64, bold bool) xfont.Face {
	f := fonts()[0]
	if bold {
		f = fonts()[1]
	}
	made, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		panic(err) // it is embedded
	}
	return made
}

// ruler measures texts.
type ruler [2]xfont.Face

// width returns how wide a text is.
func (r *ruler) width(l letters, text string) float64 {
	const size = 256
	i := 0
	if l.bold {
		i = 1
	}
	if r[i] == nil {
		r[i] = face(size, l.bold)
	}
	return float64(xfont.MeasureString(r[i], text)) / 64 * l.size / size
}

// markers tell lines apart without colours.
var markers = []func(c canvas, color color.Color, at point){
	func(c canvas, color color.Color, at point) { c.circle(pen{color: color}, at, markSize) },
	func(c canvas, color color.Color, at point) { c.fill(color, around(at, 0.85*markSize)) },
	func(c canvas, color color.Color, at point) {
		const r = 1.25 * markSize
		c.fill(color, []point{{at.X, at.Y + r}, {at.X - r*math.Sqrt(3)/2, at.Y - r/2}, {at.X + r*math.Sqrt(3)/2, at.Y - r/2}})
	},
	func(c canvas, color color.Color, at point) {
		q := around(at, 0.75*markSize)
		c.stroke(pen{color: color, width: outline}, q[0], q[2])
		c.stroke(pen{color: color, width: outline}, q[1], q[3])
	},
	func(c canvas, color color.Color, at point) { c.circle(pen{color: color, width: outline}, at, markSize) },
	func(c canvas, color color.Color, at point) {
		q := around(at, 0.85*markSize)
		c.stroke(pen{color: color, width: outline}, append(q, q[0], q[1])...)
	},
}

// markSize is the radius of a marker, outline the width of those that are not filled.
const markSize, outline = 3.4, 1

// around is a square around its middle.
func around(at point, half float64) []point {
	return rect{point{at.X - half, at.Y - half}, point{at.X + half, at.Y + half}}.corners()
}
