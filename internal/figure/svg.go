package figure

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// family are the fonts of a viewer: texts are measured in Liberation Sans, whose
// letters are as wide as those of the next two.
const family = `"Liberation Sans",Arial,Helvetica,sans-serif`

var (
	colorOf = regexp.MustCompile(`#[0-9a-f]{6}`)
	notName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// writeSVG draws in light colours and makes each style a class, which has the colours
// of both themes; so one file follows its viewer.
func (f *Figure) writeSVG(w io.Writer, live bool) error {
	s := f.sheet(Light)
	c := &svgCanvas{height: s.height, live: live}
	s.draw(c)
	id := "figure-" + strings.Trim(notName.ReplaceAllString(f.Name, "-"), "-")
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" id="%[1]s" width="%.0[2]f" height="%.0[3]f" viewBox="0 0 %[2]g %[3]g" role="img" aria-labelledby="%[1]s-title %[1]s-desc">`+"\n",
		id, s.wide, s.height)
	fmt.Fprintf(&out, "<title id=\"%s-title\">%s</title>\n<desc id=\"%s-desc\">%s</desc>\n", id, html.EscapeString(clean(f.Title)), id, html.EscapeString(clean(f.describe())))
	fmt.Fprintf(&out, "<style>\n#%s text{font-family:%s}\n", id, family)
	if slices.ContainsFunc(f.Panels, func(p Panel) bool { return p.Heat != nil }) {
		fmt.Fprintf(&out, "#%s path{shape-rendering:crispEdges}\n", id) // no seams between cells
	}
	dark := f.darkOf()
	var night strings.Builder
	for i, style := range c.styles {
		fmt.Fprintf(&out, "#%s .s%d{%s}\n", id, i, style)
		if colorOf.MatchString(style) {
			fmt.Fprintf(&night, "#%s .s%d{%s}\n", id, i, darkStyle(style, dark))
		}
	}
	fmt.Fprintf(&out, "@media (prefers-color-scheme:dark){\n%s}\n</style>\n%s</svg>\n", night.String(), c.body.String())
	_, err := out.WriteTo(w)
	return err
}

// svgCanvas writes elements, whose y goes down.
type svgCanvas struct {
	body   strings.Builder
	height float64
	styles []string
	live   bool
	about  string // attributes for scripts of what is drawn
}

// named says in a Live picture what is drawn from here on, empty for nothing.
func (f *plane) named(text string) {
	if c, ok := f.canvas.(*svgCanvas); ok && c.live {
		if c.about = ""; text != "" {
			c.about = ` data-name="` + html.EscapeString(clean(text)) + `"`
		}
	}
}

// group begins, or ends, the elements of a panel in a Live picture, with the ends of its axes on the sheet and in
// numbers and whether they are logarithmic.
func (f *plane) group(p *Panel) {
	c, ok := f.canvas.(*svgCanvas)
	switch {
	case !ok || !c.live:
	case p == nil:
		c.body.WriteString("</g>\n")
	default:
		fmt.Fprintf(&c.body, "<g data-axes=\"%s,%s,%g,%g,%t,%s,%s,%g,%g,%t\" data-x=\"%s\" data-y=\"%s\">\n",
			decimal(f.Min.X), decimal(f.Max.X), f.across.lo, f.across.hi, f.across.log,
			decimal(c.height-f.Min.Y), decimal(c.height-f.Max.Y), f.up.lo, f.up.hi, f.up.log,
			html.EscapeString(clean(p.X.Label)), html.EscapeString(clean(p.Y.Label)))
	}
}

// class is the class of a style.
func (c *svgCanvas) class(style string) string {
	at := slices.Index(c.styles, style)
	if at < 0 {
		at, c.styles = len(c.styles), append(c.styles, style)
	}
	return fmt.Sprintf(`class="s%d"%s`, at, c.about)
}

// decimal writes a coordinate to a hundredth of a point.
func decimal(x float64) string { return strconv.FormatFloat(math.Round(100*x)/100, 'f', -1, 64) }

// through writes a path.
func (c *svgCanvas) through(points []point) {
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		c.body.WriteString(command + decimal(p.X) + "," + decimal(c.height-p.Y))
	}
}

func (c *svgCanvas) fill(color color.Color, polygons ...[]point) {
	c.body.WriteString(`<path d="`)
	for _, polygon := range polygons {
		c.through(polygon)
		c.body.WriteByte('Z')
	}
	fmt.Fprintf(&c.body, "\" %s/>\n", c.class(paint("fill", color)))
}

// style is the style of what a pen draws.
func (p pen) style() string {
	if p.width == 0 {
		return paint("fill", p.color)
	}
	style := fmt.Sprintf("fill:none;%s;stroke-width:%g", paint("stroke", p.color), p.width)
	if len(p.dashes) > 0 {
		style += ";stroke-dasharray:" + strings.Trim(fmt.Sprint(p.dashes), "[]")
	}
	return style
}

func (c *svgCanvas) stroke(p pen, line ...point) {
	c.body.WriteString(`<path d="`)
	c.through(line)
	fmt.Fprintf(&c.body, "\" %s/>\n", c.class(p.style()))
}

func (c *svgCanvas) circle(p pen, at point, radius float64) {
	fmt.Fprintf(&c.body, "<circle cx=\"%s\" cy=\"%s\" r=\"%g\" %s/>\n", decimal(at.X), decimal(c.height-at.Y), radius, c.class(p.style()))
}

func (c *svgCanvas) write(l letters, at point, text string) {
	style := fmt.Sprintf("font-size:%gpx;%s", l.size, paint("fill", l.color))
	if l.bold {
		style = "font-weight:bold;" + style
	}
	if l.align != left {
		style += ";text-anchor:" + []string{"start", "middle", "end"}[l.align]
	}
	x, y, turned := decimal(at.X), decimal(c.height-at.Y), ""
	if l.upright {
		turned = fmt.Sprintf(` transform="rotate(-90 %s %s)"`, x, y)
	}
	fmt.Fprintf(&c.body, "<text x=\"%s\" y=\"%s\"%s %s>%s</text>\n", x, y, turned, c.class(style), html.EscapeString(text))
}

// paint is the style of a colour, with its opacity.
func paint(what string, c color.Color) string {
	style := what + ":" + css(c)
	if n := color.NRGBAModel.Convert(c).(color.NRGBA); n.A < 255 {
		style += fmt.Sprintf(";%s-opacity:%.3g", what, float64(n.A)/255)
	}
	return style
}

// darkStyle keeps the colours of a style, and changes them.
func darkStyle(style string, dark map[string]string) string {
	var parts []string
	for part := range strings.SplitSeq(style, ";") {
		if colorOf.MatchString(part) {
			parts = append(parts, colorOf.ReplaceAllStringFunc(part, func(c string) string { return dark[c] }))
		}
	}
	return strings.Join(parts, ";")
}

// darkOf maps each light colour of the figure to the dark one.
func (f *Figure) darkOf() map[string]string {
	light, dark := palettes[Light], palettes[Dark]
	colors := map[string]string{
		css(light.back): css(dark.back), css(light.text): css(dark.text), css(light.faint): css(dark.faint), css(light.grid): css(dark.grid),
	}
	for i, c := range light.lines {
		colors[css(c)] = css(dark.lines[i])
	}
	for _, p := range f.Panels {
		c := p.chart()
		if c == nil {
			continue
		}
		for i := range c.shades() {
			colors[css(light.class(i, c.shades()))] = css(dark.class(i, c.shades()))
		}
	}
	return colors
}

// css writes a colour without its opacity.
func css(c color.Color) string {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return fmt.Sprintf("#%02x%02x%02x", n.R, n.G, n.B)
}
