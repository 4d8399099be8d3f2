// Package classbars draws how clients hold classes: an SVG picture with a bar a
// client, stacked of its examples of each class.
package classbars

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Client is one bar.
type Client struct {
	ID string
	// Counts are the numbers of examples of each class; all clients must have as
	// many.
	Counts []int
}

// most is how many bars a picture has room for.
const most = 240

// The picture in pixels: the bars' field and what is around it.
const (
	field, height            = 960, 420
	left, top, right, bottom = 70, 40, 20, 60
	legendRow, legendColumns = 18, 10
	mostLegend               = 30 // classes that a legend names
)

// Write draws the clients, from the left in their order. Of more than 240 it
// draws 240 at even distances, and says so.
func Write(w io.Writer, title string, clients []Client) error {
	p := &picture{}
	shown := clients
	axis := "clients"
	if len(clients) > most {
		shown = make([]Client, most)
		for i := range shown {
			shown[i] = clients[i*len(clients)/most]
		}
		axis = fmt.Sprintf("%d of %d clients", most, len(clients))
	}
	tallest, classes := 1, 0
	for _, c := range shown {
		tallest, classes = max(tallest, total(c.Counts)), len(c.Counts)
	}
	rows := 0
	if classes <= mostLegend {
		rows = (classes + legendColumns - 1) / legendColumns
	}
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n",
		left+field+right, top+height+bottom+rows*legendRow)
	p.printf(`<rect width="100%%" height="100%%" fill="white"/>` + "\n")
	p.text(left, top-16, "start", title)
	p.axis(tallest)
	p.text(left+field/2, top+height+24, "middle", axis+"; the height is the number of examples, a colour is a class")
	for i, c := range shown {
		p.bar(i, len(shown), tallest, &c)
	}
	for c := range rows * legendColumns {
		if c < classes {
			x, y := left+c%legendColumns*(field/legendColumns), top+height+bottom-12+c/legendColumns*legendRow
			p.printf(`<rect x="%d" y="%d" width="12" height="12" fill="%s"/>`+"\n", x, y, colour(c, classes))
			p.text(x+18, y+11, "start", "class "+strconv.Itoa(c))
		}
	}
	p.printf("</svg>\n")
	_, err := io.WriteString(w, p.String())
	return err
}

// picture is the text of an SVG picture.
type picture struct{ strings.Builder }

func (p *picture) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// text writes a line of text.
func (p *picture) text(x, y int, anchor, s string) {
	p.printf(`<text x="%d" y="%d" text-anchor="%s">`, x, y, anchor)
	p.escaped(s)
	p.printf("</text>\n")
}

func (p *picture) escaped(s string) {
	if err := xml.EscapeText(p, []byte(s)); err != nil {
		panic("classbars: a builder failed: " + err.Error())
	}
}

// axis draws the heights at round numbers.
func (p *picture) axis(tallest int) {
	step := roundStep(tallest)
	for n := 0; n <= tallest; n += step {
		y := top + height - n*height/tallest
		p.printf(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#ddd"/>`+"\n", left, y, left+field, y)
		p.text(left-8, y+4, "end", strconv.Itoa(n))
	}
}

// roundStep returns the smallest of 1, 2, 5, 10, 20, ... that makes at most six
// steps up to n.
func roundStep(n int) int {
	for unit := 1; ; unit *= 10 {
		for _, step := range []int{unit, 2 * unit, 5 * unit} {
			if n/step <= 6 {
				return step
			}
		}
	}
}

// bar draws client i of n, class 0 at the bottom.
func (p *picture) bar(i, n, tallest int, c *Client) {
	wide := float64(field) / float64(n)
	gap := math.Min(2, wide/5)
	p.printf("<g><title>")
	p.escaped(fmt.Sprintf("%s: %d examples", c.ID, total(c.Counts)))
	p.printf("</title>")
	below := 0
	for class, count := range c.Counts {
		if count == 0 {
			continue
		}
		below += count
		scale := float64(height) / float64(tallest)
		p.printf(`<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s"/>`,
			left+float64(i)*wide, top+height-float64(below)*scale, wide-gap, float64(count)*scale, colour(class, len(c.Counts)))
	}
	p.printf("</g>\n")
}

// colour returns the colour of a class: hues around the circle, every second one
// darker so that neighbours differ.
func colour(class, classes int) string {
	light := 0.62
	if class%2 == 1 {
		light = 0.42
	}
	channel := func(shift float64) int {
		k := math.Mod(shift+12*float64(class)/float64(classes), 12)
		spread := 0.65 * math.Min(light, 1-light)
		return int(255*(light-spread*math.Max(-1, math.Min(math.Min(k-3, 9-k), 1))) + 0.5)
	}
	return fmt.Sprintf("#%02x%02x%02x", channel(0), channel(8), channel(4))
}

func total(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
