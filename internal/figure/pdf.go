package figure

import (
	"image/color"
	"io"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/go-fonts/liberation/liberationsansregular"
)

// pdfFont names the font that a PDF embeds as far as its texts need it.
const pdfFont = "Liberation Sans"

// writePDF draws one page of the figure's size in light colors.
func (f *Figure) writePDF(w io.Writer) error {
	s := f.sheet(Light)
	size := fpdf.SizeType{Wd: s.wide, Ht: s.height}
	p := fpdf.NewCustom(&fpdf.InitType{OrientationStr: "P", UnitStr: "pt", Size: size})
	p.SetCatalogSort(true)
	p.SetCreationDate(time.Unix(0, 0).UTC()) // the file depends on the figure alone
	p.SetModificationDate(time.Unix(0, 0).UTC())
	p.SetTitle(f.Title, true)
	p.AddUTF8FontFromBytes(pdfFont, "", liberationsansregular.TTF)
	p.AddUTF8FontFromBytes(pdfFont, "B", liberationsansbold.TTF)
	p.AddPage()
	s.draw(&pdfCanvas{Fpdf: p, height: s.height})
	return p.Output(w)
}

// pdfCanvas draws on a page, whose y goes down.
type pdfCanvas struct {
	*fpdf.Fpdf
	height float64
	ruler  ruler
}

// paint makes a color, with its opacity, that of what follows.
func (c *pdfCanvas) paint(set func(r, g, b int), is color.Color) {
	n := color.NRGBAModel.Convert(is).(color.NRGBA)
	set(int(n.R), int(n.G), int(n.B))
	c.SetAlpha(float64(n.A)/255, "Normal")
}

// through adds a path.
func (c *pdfCanvas) through(points []point) {
	for i, p := range points {
		if i == 0 {
			c.MoveTo(p.X, c.height-p.Y)
		} else {
			c.LineTo(p.X, c.height-p.Y)
		}
	}
}

func (c *pdfCanvas) fill(color color.Color, polygons ...[]point) {
	c.paint(c.SetFillColor, color)
	for _, polygon := range polygons {
		c.through(polygon)
		c.ClosePath()
	}
	c.DrawPath("F")
}

// take makes a pen that of the lines that follow.
func (c *pdfCanvas) take(p pen) {
	c.paint(c.SetDrawColor, p.color)
	c.SetLineWidth(p.width)
	c.SetDashPattern(p.dashes, 0)
}

func (c *pdfCanvas) stroke(p pen, line ...point) {
	c.take(p)
	c.through(line)
	c.DrawPath("D")
}

func (c *pdfCanvas) circle(p pen, at point, radius float64) {
	style := "D"
	if c.take(p); p.width == 0 {
		style = "F"
		c.paint(c.SetFillColor, p.color)
	}
	c.Circle(at.X, c.height-at.Y, radius, style)
}

func (c *pdfCanvas) write(l letters, at point, text string) {
	style := ""
	if l.bold {
		style = "B"
	}
	c.SetFont(pdfFont, style, l.size)
	c.paint(c.SetTextColor, l.color)
	x, y := at.X, c.height-at.Y
	if l.upright {
		c.TransformBegin()
		defer c.TransformEnd()
		c.TransformRotate(90, x, y)
	}
	c.Text(x-c.ruler.width(l, text)*float64(l.align)/2, y, text)
}
