package glyphs

import (
	"fmt"
	"sync"

	"github.com/go-fonts/dejavu/dejavumathtexgyre"
	"github.com/go-fonts/dejavu/dejavusansextralight"
	"github.com/go-fonts/dejavu/dejavuserifbold"
	"github.com/go-fonts/latin-modern/lmmono10italic"
	"github.com/go-fonts/latin-modern/lmmonoltcond10regular"
	"github.com/go-fonts/latin-modern/lmroman10italic"
	"github.com/go-fonts/latin-modern/lmroman5bold"
	"github.com/go-fonts/latin-modern/lmromandunh10regular"
	"github.com/go-fonts/latin-modern/lmromanunsl10regular"
	"github.com/go-fonts/latin-modern/lmsansdemicond10oblique"
	"github.com/go-fonts/latin-modern/lmsansquot8bold"
	"github.com/go-fonts/liberation/liberationmonoregular"
	"github.com/go-fonts/liberation/liberationsansbold"
	"github.com/go-fonts/liberation/liberationserifitalic"
	"github.com/go-fonts/stix/stix2mathregular"
	"github.com/go-fonts/stix/stix2textbolditalic"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobolditalic"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
)

// A source is one face: a font file and the code points at which its digits,
// capitals and small letters start. Mathematical fonts hold whole alphabets at
// code points of their own.
type source struct {
	name                  string
	data                  []byte
	digit, capital, small rune
}

// sources lists the faces, clearly different in style. Their order is part of
// what a seed means.
var sources = []source{
	{"Go Regular", goregular.TTF, '0', 'A', 'a'},
	{"Go Italic", goitalic.TTF, '0', 'A', 'a'},
	{"Go Mono", gomono.TTF, '0', 'A', 'a'},
	{"Go Mono Bold Italic", gomonobolditalic.TTF, '0', 'A', 'a'},
	{"Liberation Sans Bold", liberationsansbold.TTF, '0', 'A', 'a'},
	{"Liberation Serif Italic", liberationserifitalic.TTF, '0', 'A', 'a'},
	{"Liberation Mono", liberationmonoregular.TTF, '0', 'A', 'a'},
	{"DejaVu Sans Extra Light", dejavusansextralight.TTF, '0', 'A', 'a'},
	{"DejaVu Serif Bold", dejavuserifbold.TTF, '0', 'A', 'a'},
	{"DejaVu Math bold script", dejavumathtexgyre.TTF, '0', 0x1d4d0, 0x1d4ea},
	{"Latin Modern Roman Italic", lmroman10italic.TTF, '0', 'A', 'a'},
	{"Latin Modern Roman Bold 5", lmroman5bold.TTF, '0', 'A', 'a'},
	{"Latin Modern Roman Dunhill", lmromandunh10regular.TTF, '0', 'A', 'a'},
	{"Latin Modern Roman Unslanted Italic", lmromanunsl10regular.TTF, '0', 'A', 'a'},
	{"Latin Modern Sans Demi Condensed Oblique", lmsansdemicond10oblique.TTF, '0', 'A', 'a'},
	{"Latin Modern Sans Quotation Bold", lmsansquot8bold.TTF, '0', 'A', 'a'},
	{"Latin Modern Mono Italic", lmmono10italic.TTF, '0', 'A', 'a'},
	{"Latin Modern Mono Light Condensed", lmmonoltcond10regular.TTF, '0', 'A', 'a'},
	{"STIX Two Text Bold Italic", stix2textbolditalic.TTF, '0', 'A', 'a'},
	{"STIX Two Math bold script", stix2mathregular.TTF, 0x1d7e2, 0x1d4d0, 0x1d4ea},
}

// A face is the outlines of the classes, in label order.
type face [Classes]outline

// loadFaces returns the outlines of all sources; the first call parses them.
var loadFaces = sync.OnceValues(func() ([]face, error) {
	faces := make([]face, len(sources))
	for i := range sources {
		if err := faces[i].load(&sources[i]); err != nil {
			return nil, fmt.Errorf("font %s: %w", sources[i].name, err)
		}
	}
	return faces, nil
})

func (f *face) load(s *source) error {
	font, err := sfnt.Parse(s.data)
	if err != nil {
		return err
	}
	reader := loader{font: font}
	tallest, err := reader.contours(s.capital + 'H' - 'A')
	if err != nil {
		return err
	}
	_, size := tallest.bounds()
	for label := range f {
		c, err := reader.contours(s.codePoint(label))
		if err != nil {
			return err
		}
		f[label] = newOutline(c, size.y)
	}
	return nil
}

func (s *source) codePoint(label int) rune {
	switch {
	case label < 10:
		return s.digit + rune(label)
	case label < 36:
		return s.capital + rune(label-10)
	default:
		return s.small + rune(label-36)
	}
}
