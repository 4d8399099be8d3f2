package figure

import (
	"image/color"
	"math"
	"testing"
)

// linear are the shares of red, green and blue light in a colour of sRGB.
func linear(c color.RGBA) (l [3]float64) {
	for i, x := range []uint8{c.R, c.G, c.B} {
		if s := float64(x) / 255; s <= 0.04045 {
			l[i] = s / 12.92
		} else {
			l[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	return l
}

// luminance is the luminance of WCAG 2.
func luminance(c color.RGBA) float64 {
	l := linear(c)
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

// contrast is the contrast of WCAG 2, between 1 and 21.
func contrast(a, b color.RGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestContrast(t *testing.T) {
	if got := contrast(rgb(0), rgb(0xffffff)); math.Abs(got-21) > 1e-9 {
		t.Fatalf("black on white has %v", got)
	}
	for theme, p := range palettes {
		// WCAG 2: 4.5 for text, 3 for what a picture shows.
		for name, c := range map[string]color.RGBA{"text": p.text, "faint": p.faint} {
			if got := contrast(c, p.back); got < 4.5 {
				t.Errorf("theme %d: %s has a contrast of %.2f", theme, name, got)
			}
		}
		for i, c := range p.lines {
			if got := contrast(c, p.back); got < 3 {
				t.Errorf("theme %d: line %d has a contrast of %.2f", theme, i, got)
			}
		}
		last := -1.0
		for i := range 62 {
			c := p.class(i, 62)
			if got := contrast(c, p.back); got < 1.5 {
				t.Errorf("theme %d: class %d has a contrast of %.2f", theme, i, got)
			}
			if l := luminance(c); l <= last {
				t.Errorf("theme %d: class %d is not lighter than the one before", theme, i)
			} else {
				last = l
			}
		}
	}
}

// sights are the eyes of people with full sight and without one kind of cones:
// matrices on linear light (Machado, Oliveira and Fernandes, "A
// Physiologically-based Model for Simulation of Color Vision Deficiency", 2009,
// severity 1).
var sights = map[string][3][3]float64{
	"full":         {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// lab is a colour in CIELAB as a sight sees it.
func lab(c color.RGBA, sight [3][3]float64) [3]float64 {
	l := linear(c)
	var seen [3]float64
	for i, row := range sight {
		for j, w := range row {
			seen[i] += w * l[j]
		}
		seen[i] = min(1, max(0, seen[i]))
	}
	f := func(r, g, b, white float64) float64 {
		t := (r*seen[0] + g*seen[1] + b*seen[2]) / white
		if t > 0.008856 {
			return math.Cbrt(t)
		}
		return 7.787*t + 16.0/116
	}
	x, y, z := f(0.4124, 0.3576, 0.1805, 0.9505), f(0.2126, 0.7152, 0.0722, 1), f(0.0193, 0.1192, 0.9505, 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}

func TestColorsDiffer(t *testing.T) {
	for theme, p := range palettes {
		for name, sight := range sights {
			for i, a := range p.lines {
				for j, b := range p.lines[:i] {
					x, y := lab(a, sight), lab(b, sight)
					if d := math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2])); d < 12 {
						t.Errorf("theme %d, %s: lines %d and %d are %.1f apart, 12 is told apart side by side", theme, name, j, i, d)
					}
				}
			}
		}
	}
	if len(markers) < len(palettes[Light].lines) || len(palettes[Light].lines) != len(palettes[Dark].lines) {
		t.Error("a line has a colour without a marker of its own, or none in the dark")
	}
}

func TestThemeOf(t *testing.T) {
	if got, err := ThemeOf("dark"); got != Dark || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := ThemeOf("blue"); err == nil || err.Error() != `"blue": must be light or dark` {
		t.Errorf("error %v", err)
	}
}
