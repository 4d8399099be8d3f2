package figure

import (
	"fmt"
	"image/color"
	"math"
)

// Theme is what a picture is drawn upon.
type Theme int

// The themes.
const (
	Light Theme = iota
	Dark
)

// ThemeOf returns the theme of a name.
func ThemeOf(name string) (Theme, error) {
	switch name {
	case "light":
		return Light, nil
	case "dark":
		return Dark, nil
	}
	return Light, fmt.Errorf("%q: must be light or dark", name)
}

// palette holds the colours of a theme.
type palette struct {
	back, text, faint, grid color.RGBA
	// lines are the colors of lines and of few classes, for the first, second, ... of
	// them.
	lines []color.RGBA
	// ramp are the ends, in [0, 1], of the part of viridis that is seen on the
	// background.
	ramp [2]float64
}

// palettes are the palettes of Okabe and Ito (https://jfly.uni-koeln.de/color), but for
// colours that have too little contrast with the background: black, purple and
// brown stand in for its yellow and its lighter ones on white, white for black on
// dark.
var palettes = map[Theme]palette{
	Light: {
		back: rgb(0xffffff), text: rgb(0x1b1f24), faint: rgb(0x5b636d), grid: rgb(0xe2e5e9),
		lines: []color.RGBA{rgb(0x0072b2), rgb(0xd55e00), rgb(0x009e73), rgb(0x303030), rgb(0xb8408c), rgb(0x6b3d00)},
		ramp:  [2]float64{0, 0.85},
	},
	Dark: {
		back: rgb(0x14181d), text: rgb(0xe8eaed), faint: rgb(0xa3abb5), grid: rgb(0x333a43),
		lines: []color.RGBA{rgb(0x56b4e9), rgb(0xe69f00), rgb(0x009e74), rgb(0xf0f0f0), rgb(0xcc79a7), rgb(0xf0e442)},
		ramp:  [2]float64{0.15, 1},
	},
}

// rgb is an opaque colour, as CSS writes it.
func rgb(x uint32) color.RGBA {
	return color.RGBA{uint8(x >> 16), uint8(x >> 8), uint8(x), 255} //nolint:gosec // the low bytes are meant
}

// dashes tell lines apart that have the same colour and marker.
var dashes = [][]float64{nil, {6, 3}, {2, 2}}

// line returns the colour of line i.
func (p palette) line(i int) color.RGBA { return p.lines[i%len(p.lines)] }

// class returns the colour of class i of n: that of a line where there are enough
// of them, else one between the ends of the ramp.
func (p palette) class(i, n int) color.RGBA {
	if n <= len(p.lines) {
		return p.lines[i]
	}
	return viridis(p.ramp[0] + (p.ramp[1]-p.ramp[0])*float64(i)/float64(n-1))
}

// viridisAt are colours of the map viridis (Smith and van der Walt 2015, CC0) at
// even distances.
var viridisAt = []color.RGBA{
	rgb(0x440154), rgb(0x482475), rgb(0x414487), rgb(0x355f8d), rgb(0x2a788e), rgb(0x21918c), rgb(0x22a884), rgb(0x44bf70),
	rgb(0x7ad151), rgb(0xbddf26), rgb(0xfde725),
}

// viridis returns the colour at t in [0, 1]. Its lightness rises with t.
func viridis(t float64) color.RGBA {
	at := t * float64(len(viridisAt)-1)
	i := min(int(at), len(viridisAt)-2)
	a, b := viridisAt[i], viridisAt[i+1]
	mix := func(x, y uint8) uint8 {
		return uint8(math.Round(float64(x) + (at-float64(i))*(float64(y)-float64(x))))
	}
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}
