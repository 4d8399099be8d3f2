package data

import "github.com/fedfast/fedfast/internal/draw"

// jitterColours changes brightness, contrast, saturation and hue of x, rows of
// R, G, B in [0, 1], in random order as torchvision's ColorJitter does on float
// images: the order is drawn first, then the four strengths.
func jitterColours(x []float32, d *draw.Stream) {
	order := [4]int32{0, 1, 2, 3}
	d.Shuffle(order[:])
	brightness := float32(d.Span(1-jitterRange, 1+jitterRange))
	contrast := float32(d.Span(1-jitterRange, 1+jitterRange))
	saturation := float32(d.Span(1-jitterRange, 1+jitterRange))
	sixths := float32(d.Span(-6*jitterRange, 6*jitterRange)) // of the hue circle
	for _, change := range order {
		switch change {
		case 0:
			for i, v := range x {
				x[i] = unit(v * brightness)
			}
		case 1:
			towards := float32((1 - contrast) * meanGrey(x))
			for i, v := range x {
				x[i] = unit(float32(v*contrast) + towards)
			}
		case 2:
			for rest := x; len(rest) >= 3; rest = rest[3:] {
				p := rest[:3:3]
				r, g, b := p[0], p[1], p[2]
				towards := float32((1 - saturation) * grey(r, g, b))
				p[0] = unit(float32(r*saturation) + towards)
				p[1] = unit(float32(g*saturation) + towards)
				p[2] = unit(float32(b*saturation) + towards)
			}
		case 3:
			for rest := x; len(rest) >= 3; rest = rest[3:] {
				p := rest[:3:3]
				p[0], p[1], p[2] = turnHue(p[0], p[1], p[2], sixths)
			}
		}
	}
}

// unit clamps v, which is no -0, to [0, 1].
func unit(v float32) float32 {
	if v > 1 {
		return 1
	}
	if v < 0 {
		return 0
	}
	return v
}

// grey returns the luma of a colour (ITU-R BT.601, torchvision's digits).
func grey(r, g, b float32) float32 {
	return float32(0.2989*r) + float32(0.587*g) + float32(0.114*b)
}

// meanGrey returns the mean luma of an image.
func meanGrey(x []float32) float32 {
	var sum float64
	for i := 0; i+2 < len(x); i += 3 {
		sum += float64(grey(x[i], x[i+1], x[i+2]))
	}
	return float32(sum / float64(len(x)/3))
}

// turnHue turns the hue of a colour by a number of sixths of the circle, keeping
// HSV saturation and value.
func turnHue(r, g, b, sixths float32) (float32, float32, float32) {
	top, low := max(r, g, b), min(r, g, b)
	chroma := top - low
	if chroma == 0 {
		return r, g, b
	}
	var h float32 // in sixths, red at 0
	switch top {
	case r:
		h = (g - b) / chroma
	case g:
		h = 2 + (b-r)/chroma
	default:
		h = 4 + (r-g)/chroma
	}
	h += sixths
	if h < 0 {
		h += 6
	}
	if h >= 6 {
		h -= 6
	}
	sector := int(h)
	part := h - float32(sector)
	up, down := low+float32(chroma*part), top-float32(chroma*part)
	switch sector {
	case 0:
		return top, up, low
	case 1:
		return down, top, low
	case 2:
		return low, top, up
	case 3:
		return low, down, top
	case 4:
		return up, low, top
	default:
		return top, low, down
	}
}
