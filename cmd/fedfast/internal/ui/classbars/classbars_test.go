package classbars

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

// element is what the tests read of a picture.
type element struct {
	Texts  []string `xml:"text"`
	Groups []struct {
		Title string `xml:"title"`
		Rects []struct {
			X      float64 `xml:"x,attr"`
			Y      float64 `xml:"y,attr"`
			Width  float64 `xml:"width,attr"`
			Height float64 `xml:"height,attr"`
			Fill   string  `xml:"fill,attr"`
		} `xml:"rect"`
	} `xml:"g"`
}

func draw(t *testing.T, clients []Client) element {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, `a <set> & "more"`, clients); err != nil {
		t.Fatal(err)
	}
	var e element
	if err := xml.Unmarshal([]byte(b.String()), &e); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return e
}

func TestWrite(t *testing.T) {
	e := draw(t, []Client{{"w<1", []int{10, 0, 30}}, {"w2", []int{0, 20, 0}}, {"none", []int{0, 0, 0}}})
	if len(e.Groups) != 3 || e.Groups[0].Title != "w<1: 40 examples" || e.Texts[0] != `a <set> & "more"` {
		t.Fatalf("drawn %+v", e)
	}
	bars := e.Groups[0].Rects
	if len(bars) != 2 || len(e.Groups[1].Rects) != 1 || len(e.Groups[2].Rects) != 0 {
		t.Fatalf("drawn %+v", e.Groups)
	}
	// 40 examples fill the height of 420: 105 and 315, one on the other.
	if bars[0].Height != 105 || bars[1].Height != 315 || bars[0].Y != top+315 || bars[1].Y != top || bars[0].Fill == bars[1].Fill {
		t.Errorf("the first bar is %+v", bars)
	}
	if second := e.Groups[1].Rects[0]; second.Height != 210 || second.X <= bars[0].X+bars[0].Width {
		t.Errorf("the second bar is %+v", second)
	}
	if last := e.Texts[len(e.Texts)-1]; last != "class 2" {
		t.Errorf("the legend ends with %q", last)
	}
}

func TestWriteManyClients(t *testing.T) {
	clients := make([]Client, 3550)
	for i := range clients {
		clients[i] = Client{strconv.Itoa(i), make([]int, 62)}
		clients[i].Counts[i%62] = i
	}
	e := draw(t, clients)
	if len(e.Groups) != most || !strings.Contains(strings.Join(e.Texts, "\n"), "240 of 3550 clients") || strings.Contains(strings.Join(e.Texts, "\n"), "class 61") {
		t.Errorf("%d bars, texts %q", len(e.Groups), e.Texts)
	}
	for _, g := range e.Groups {
		for _, r := range g.Rects {
			if r.X < left || r.X+r.Width > left+field || r.Y < top || math.Abs(r.Y+r.Height-top-height) > 0.02 {
				t.Fatalf("a bar leaves its field: %+v", r)
			}
		}
	}
	draw(t, nil) // no clients: a picture all the same
}

func TestColours(t *testing.T) {
	for _, classes := range []int{1, 2, 10, 62, 100} {
		seen := map[string]bool{}
		for c := range classes {
			s := colour(c, classes)
			var r, g, b int
			if n, err := fmt.Sscanf(s, "#%02x%02x%02x", &r, &g, &b); n != 3 || err != nil || len(s) != 7 {
				t.Errorf("colour %q", s)
			}
			seen[s] = true
		}
		if len(seen) != classes {
			t.Errorf("%d colours of %d classes", len(seen), classes)
		}
	}
}

func TestRoundStep(t *testing.T) {
	for n, want := range map[int]int{1: 1, 6: 1, 7: 2, 40: 10, 100: 20, 817_851: 200_000} {
		if got := roundStep(n); got != want {
			t.Errorf("steps of %d up to %d, must be %d", got, n, want)
		}
	}
}

// failing is a writer that is full.
type failing struct{ io.Writer }

var errFull = errors.New("full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	if err := Write(failing{}, "", nil); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}
