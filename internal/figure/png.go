package figure

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image/color"
	"io"
	"math"
	"slices"

	"git.sr.ht/~sbinet/gg"
	xfont "golang.org/x/image/font"

	"github.com/fedfast/fedfast/internal/list"
)

// pngScale is how many pixels a point has: 300 to an inch.
const pngScale = 300.0 / 72

// writePNG draws in the colours of a theme.
func (f *Figure) writePNG(w io.Writer, theme Theme) error {
	s := f.sheet(theme)
	c := &pngCanvas{Context: gg.NewContext(int(pngScale*s.wide), int(pngScale*s.height)), height: s.height, faces: map[letters]xfont.Face{}}
	c.SetLineCapButt()
	s.draw(c)
	var out bytes.Buffer
	if err := c.EncodePNG(&out); err != nil {
		return err
	}
	_, err := w.Write(sized(out.Bytes()))
	return err
}

// pngHead is how many bytes the signature and the first chunk of a PNG take.
const pngHead = 33

// sized puts the chunk with the pixels of a meter behind the head of a PNG, from which
// other programs take the size of the picture.
func sized(png []byte) []byte {
	perMeter := uint32(math.Round(pngScale * 72 / 0.0254))
	chunk := binary.BigEndian.AppendUint32(nil, 9)
	chunk = append(chunk, "pHYs"...)
	chunk = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(chunk, perMeter), perMeter)
	chunk = append(chunk, 1) // meters
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return slices.Concat(png[:pngHead], chunk, png[pngHead:])
}

// pngCanvas draws pixels, whose rows go down.
type pngCanvas struct {
	*gg.Context
	height float64
	faces  map[letters]xfont.Face // by size and bold
}

// pixel is where a point is.
func (c *pngCanvas) pixel(p point) (x, y float64) { return pngScale * p.X, pngScale * (c.height - p.Y) }

// through adds a path.
func (c *pngCanvas) through(points []point) {
	c.NewSubPath()
	for _, p := range points {
		c.LineTo(c.pixel(p))
	}
}

func (c *pngCanvas) fill(color color.Color, polygons ...[]point) {
	c.SetColor(color)
	for _, polygon := range polygons {
		c.through(polygon)
		c.ClosePath()
	}
	c.Fill()
}

func (c *pngCanvas) stroke(p pen, line ...point) {
	c.take(p)
	c.through(line)
	c.Stroke()
}

// take makes a pen that of the lines to come.
func (c *pngCanvas) take(p pen) {
	c.SetColor(p.color)
	c.SetLineWidth(pngScale * p.width)
	dashes := list.Of(p.dashes, func(d float64) float64 { return pngScale * d })
	c.SetDash(dashes...)
}

func (c *pngCanvas) circle(p pen, at point, radius float64) {
	x, y := c.pixel(at)
	c.take(p)
	c.DrawCircle(x, y, pngScale*radius)
	if p.width == 0 {
		c.Fill()
	} else {
		c.Stroke()
	}
}

func (c *pngCanvas) write(l letters, at point, text string) {
	key := letters{size: l.size, bold: l.bold}
	if c.faces[key] == nil {
		c.faces[key] = face(pngScale*l.size, l.bold)
	}
	c.SetFontFace(c.faces[key])
	c.SetColor(l.color)
	x, y := c.pixel(at)
	c.Push()
	if l.upright {
		c.RotateAbout(gg.Radians(-90), x, y)
	}
	wide, _ := c.MeasureString(text)
	c.DrawString(text, x-wide*float64(l.align)/2, y)
	c.Pop()
}
