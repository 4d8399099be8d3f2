package glyphs

// A canvas is the working memory of one goroutine.
type canvas struct {
	stream
	habits   [Classes]field
	tremor   field
	shape    polygons
	spare    []point
	coverage coverage
	grey     [Side][Side]float64
}

// margin is the least distance of a character from the border, in pixels.
const margin = 0.5

// sample draws one sample of o in a writer's style.
func (c *canvas) sample(dst []byte, st *style, o *outline, label int) {
	c.tremor.draw(&c.stream)
	c.bend(st, o, label)
	c.place(st, o)
	c.coverage.fill(&c.shape)
	c.coverage.resolve(&c.grey)
	c.soften(st.softness)
	c.print(dst, st)
}

// bend copies o to c.shape, displaced by the writer's habit and by a tremor.
func (c *canvas) bend(st *style, o *outline, label int) {
	c.shape.ends = o.ends
	c.shape.points = c.shape.points[:0]
	// A little more than the box, so that narrow characters bend as a whole.
	span := max(o.size.x, o.size.y, 0.5)
	habit := &c.habits[label]
	for _, p := range o.points {
		u, v := p.x/span+0.5, p.y/span+0.5
		a, b := habit.at(u, v), c.tremor.at(u, v)
		c.shape.points = append(c.shape.points, point{
			p.x + float64(st.habit*a.x) + float64(st.tremor*b.x),
			p.y + float64(st.habit*a.y) + float64(st.tremor*b.y),
		})
	}
}

// place slants, turns and scales c.shape, brings its strokes to the writer's
// width and puts it on paper.
func (c *canvas) place(st *style, o *outline) {
	jitter := func(scale float64) float64 { return float64(st.wobble * float64(scale*c.normal())) }
	slant := st.slant + jitter(0.08)
	t := st.turn + jitter(0.04)
	cos, sin := (1-float64(t*t))/(1+float64(t*t)), 2*t/(1+float64(t*t))
	// A dot or a dash must not grow to a capital's height: tall is bounded below.
	tall := max(o.size.y, 0.45)
	sy := st.height / (float64(st.evenness*tall) + (1 - st.evenness))
	sy = float64(sy * exp(jitter(0.08)))
	sx := float64(float64(sy*st.aspect) * exp(jitter(0.08)))
	for i, p := range c.shape.points {
		x, y := float64(sx*p.x)-float64(slant*float64(sy*p.y)), float64(sy*p.y)
		c.shape.points[i] = point{float64(cos*x) - float64(sin*y), float64(sin*x) + float64(cos*y)}
	}
	now := float64(o.stroke*(sx+sy)) / 2
	wanted := float64(st.stroke * exp(jitter(0.1)))
	d := (wanted - now) / 2
	c.spare = c.shape.offset(c.spare, max(d, -0.15*now))
	c.shape.points, c.spare = c.spare, c.shape.points

	const room = Side - 2*margin
	lo, size := c.shape.bounds()
	scale := min(1, room/size.x, room/size.y)
	freeX, freeY := room-float64(scale*size.x), room-float64(scale*size.y)
	left := margin + min(max(freeX/2+jitter(1.2), 0), freeX)
	top := margin + min(max(freeY/2+jitter(1.2), 0), freeY)
	for i, p := range c.shape.points {
		c.shape.points[i] = point{left + float64(scale*(p.x-lo.x)), top + float64(scale*(p.y-lo.y))}
	}
}

// soften mixes the image with its binomial 3x3 blur.
func (c *canvas) soften(share float64) {
	var src [Side + 2][Side + 2]float64 // with a border of zeros
	for y := range c.grey {
		copy(src[y+1][1:], c.grey[y][:])
	}
	for y := range c.grey {
		above, here, below, row := &src[y], &src[y+1], &src[y+2], &c.grey[y]
		for x := range row {
			blur := (above[x] + 2*above[x+1] + above[x+2] +
				2*here[x] + 4*here[x+1] + 2*here[x+2] +
				below[x] + 2*below[x+1] + below[x+2]) / 16
			row[x] = here[x+1] + float64(share*(blur-here[x+1]))
		}
	}
}

// print turns coverages into bytes with the writer's ink and paper.
func (c *canvas) print(dst []byte, st *style) {
	ink := st.ink - float64(st.fade*c.unit())
	for y := range c.grey {
		for x, v := range c.grey[y] {
			bits := c.pcg.Uint64()
			// The sum of four bytes, centred and scaled to a deviation of about 1.
			sum := bits&255 + bits>>8&255 + bits>>16&255 + bits>>24&255
			noise := (float64(sum) - 510) / 148
			v = 1 - float64(ink*v) + float64(st.grain*noise)
			dst[y*Side+x] = byte(float64(255*min(max(v, 0), 1)) + 0.5)
		}
	}
}
