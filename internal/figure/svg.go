package figure

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// family are the fonts of a viewer: texts are measured in Liberation Sans, whose
// letters are as wide as those of the next two.
const family = `"Liberation Sans",Arial,Helvetica,sans-serif`

var (
	styleOf = regexp.MustCompile(`\s*style="([^"]*)"`)
	fontOf  = regexp.MustCompile(`font-family:[^;]*;|font-variant:[^;]*;|font-weight:normal;|font-style:normal;?`)
	colorOf = regexp.MustCompile(`#[0-9A-Fa-f]{6}`)
	opening = regexp.MustCompile(`(?s)^.*?<svg.*?>\n`)
	notName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
)

// writeSVG draws in light colours and turns each style into a class, which has the
// colours of both themes; so one file follows its viewer.
func (f *Figure) writeSVG(w io.Writer) error {
	s := f.sheet(Light)
	canvas := vgsvg.New(s.width, s.height)
	s.draw(draw.New(canvas))
	var drawn bytes.Buffer
	if _, err := canvas.WriteTo(&drawn); err != nil {
		return err
	}
	id := "figure-" + strings.Trim(notName.ReplaceAllString(f.Name, "-"), "-")
	var styles []string
	body := styleOf.ReplaceAllFunc(opening.ReplaceAll(drawn.Bytes(), nil), func(attr []byte) []byte {
		style := strings.TrimSuffix(fontOf.ReplaceAllString(string(styleOf.FindSubmatch(attr)[1]), ""), ";")
		at := slices.Index(styles, style)
		if at < 0 {
			at, styles = len(styles), append(styles, style)
		}
		return fmt.Appendf(nil, ` class="s%d"`, at)
	})
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" id="%[1]s" width="%.0[2]f" height="%.0[3]f" viewBox="0 0 %[2]g %[3]g" role="img" aria-labelledby="%[1]s-title %[1]s-desc">`+"\n",
		id, s.width.Points(), s.height.Points())
	fmt.Fprintf(&out, "<title id=\"%s-title\">%s</title>\n<desc id=\"%s-desc\">%s</desc>\n", id, html.EscapeString(clean(f.Title)), id, html.EscapeString(clean(f.describe())))
	fmt.Fprintf(&out, "<style>\n#%s text{font-family:%s}\n", id, family)
	if f.tiled() {
		fmt.Fprintf(&out, "#%s path{shape-rendering:crispEdges}\n", id) // no seams between cells
	}
	dark := f.darkOf()
	var night strings.Builder
	for i, style := range styles {
		fmt.Fprintf(&out, "#%s .s%d{%s}\n", id, i, style)
		if colorOf.MatchString(style) {
			fmt.Fprintf(&night, "#%s .s%d{%s}\n", id, i, darkStyle(style, dark))
		}
	}
	fmt.Fprintf(&out, "@media (prefers-color-scheme:dark){\n%s}\n</style>\n%s", night.String(), body)
	_, err := out.WriteTo(w)
	return err
}

// tiled says whether a panel is made of cells that touch each other.
func (f *Figure) tiled() bool {
	return slices.ContainsFunc(f.Panels, func(p Panel) bool { return p.Heat != nil })
}

// darkStyle keeps the colours of a style, and changes them.
func darkStyle(style string, dark map[string]string) string {
	var parts []string
	for part := range strings.SplitSeq(style, ";") {
		if colorOf.MatchString(part) {
			parts = append(parts, colorOf.ReplaceAllStringFunc(part, func(c string) string { return dark[strings.ToLower(c)] }))
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
		for _, seen := range []color.Color{c, transparent(c, bandOpacity), transparent(c, runOpacity)} {
			colors[css(seen)] = css(dark.lines[i])
		}
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

// css writes a colour without its opacity, rounded as vgsvg does.
func css(c color.Color) string {
	r, g, b, a := c.RGBA()
	by := 255 / float64(a)
	return fmt.Sprintf("#%02x%02x%02x", int(float64(r)*by), int(float64(g)*by), int(float64(b)*by))
}
