// Package picture reads pictures and turns them into rows of bytes, by integers
// alone, so that every machine has the same.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"regexp"

	// The forms of pictures.
	_ "image/jpeg"
	_ "image/png"

	"github.com/fedfast/fedfast/internal/sys/memory"
)

const (
	// perPicture is what a picture takes of a budget in addition to its pixels: a decoder is
	// made for each.
	perPicture = 1 << 10
	// maxScans bounds how often a JPEG may go through its pixels: those that come into
	// view step by step have about ten.
	maxScans = 100
)

// What users' files have in place of pictures: names of their files, and texts that stand for their bytes.
var (
	fileName = regexp.MustCompile(`(?i)^[^\n]*\.(png|jpe?g)$`)
	base64   = regexp.MustCompile(`^(data:image/|iVBORw0KGgo|/9j/)[^.]*$`)
)

// Decode reads a picture in PNG or JPEG. Before it takes memory for the pixels it looks
// at how many there are said to be, takes four bytes for each of the budget, and asks
// fits, which may be nil, about the width and the height.
func Decode(encoded []byte, budget *memory.Budget, fits func(w, h int) error) (image.Image, error) {
	c, form, err := image.DecodeConfig(bytes.NewReader(encoded))
	switch {
	case err == nil:
	case fileName.Match(encoded):
		return nil, errors.New(`it is the name of a file, not what that has; save open(x, "rb").read() of each name x`)
	case base64.Match(encoded):
		return nil, errors.New(`it is a text in base64; save base64.b64decode(x.split(",")[-1]) of each text x`)
	default:
		return nil, damaged{err}
	}
	if fits != nil {
		if err := fits(c.Width, c.Height); err != nil {
			return nil, err
		}
	}
	pixels := int64(c.Width) * int64(c.Height) // each has 32 bits at most
	if err := budget.Take(4*min(pixels, 1<<60) + perPicture); err != nil {
		return nil, fmt.Errorf("it says that it has %d x %d pixels: %w", c.Width, c.Height, err)
	}
	if err := memory.Check(16 * pixels); err != nil { // a JPEG's, before they are pixels
		return nil, fmt.Errorf("it has %d x %d pixels, and %w", c.Width, c.Height, err)
	}
	if scans := bytes.Count(encoded, []byte("\xff\xda")); form == "jpeg" && scans > maxScans {
		return nil, fmt.Errorf("it has %d scans, must have at most %d", scans, maxScans)
	}
	m, _, err := image.Decode(bytes.NewReader(encoded))
	if err != nil {
		return nil, damaged{err}
	}
	return m, nil
}

// damaged is the error of what cannot be decoded.
type damaged struct{ err error }

// Error describes what a picture must be.
func (d damaged) Error() string {
	return "it is no PNG or JPEG, or is damaged; save(file, \"PNG\") of Pillow makes one: " + d.err.Error()
}

// Unwrap returns the cause.
func (d damaged) Unwrap() error { return d.err }

// Channels returns 1 for a grey picture, which may be partly transparent, else 3.
func Channels(encoded []byte, m image.Image) int {
	const form, greyAlpha = 25, 4 // of a PNG, whose header comes first
	switch m.ColorModel() {
	case color.GrayModel, color.Gray16Model:
		return 1
	}
	if bytes.HasPrefix(encoded, []byte("\x89PNG")) && len(encoded) > form && encoded[form] == greyAlpha {
		return 1
	}
	return 3
}

// Turned reports whether a picture says that it is to be turned or mirrored to be looked at, as a phone writes it.
func Turned(encoded []byte) bool {
	head := encoded[:min(len(encoded), 1<<16)]
	_, exif, is := bytes.Cut(head, []byte("Exif\x00\x00"))
	if !is {
		_, exif, _ = bytes.Cut(head, []byte("eXIf")) // of a PNG
	}
	for _, orientation := range []string{"\x12\x01\x03\x00\x01\x00\x00\x00", "\x01\x12\x00\x03\x00\x00\x00\x01\x00"} {
		if _, value, found := bytes.Cut(exif, []byte(orientation)); found && len(value) > 0 {
			return value[0] > 1 && value[0] <= 8
		}
	}
	return false
}

// Deep reports whether a picture has 16 bits a channel.
func Deep(m image.Image) bool {
	switch m.ColorModel() {
	case color.Gray16Model, color.RGBA64Model, color.NRGBA64Model:
		return true
	}
	return false
}

// AppendDeep appends pixels of 16 bits, as Append does those of 8.
func AppendDeep(to []uint16, m image.Image, channels int) []uint16 {
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.NRGBA64Model.Convert(m.At(x, y)).(color.NRGBA64)
			to = append(to, []uint16{c.R, c.G, c.B}[:channels]...)
		}
	}
	return to
}

// Append appends the pixels row by row, one byte of grey or three of red, green and
// blue for each; what a picture says of transparency is left out.
func Append(to []byte, m image.Image, channels int) []byte {
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if grey, ok := m.(*image.Gray); ok && channels == 1 {
				to = append(to, grey.GrayAt(x, y).Y)
				continue
			}
			c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
			to = append(to, []byte{c.R, c.G, c.B}[:channels]...)
		}
	}
	return to
}

// Resize returns the picture of w x h pixels of some channels at a size of sw x sh: the
// mean over the area that a pixel covers, to the nearest integer.
func Resize(pixels []byte, w, h, channels, sw, sh int) []byte {
	out := make([]byte, 0, sw*sh*channels)
	area := int64(w) * int64(h)
	for y := range sh {
		for x := range sw {
			for c := range channels {
				sum := area / 2
				for sy := y * h / sh; sy*sh < (y+1)*h; sy++ {
					rows := int64(min((sy+1)*sh, (y+1)*h) - max(sy*sh, y*h))
					for sx := x * w / sw; sx*sw < (x+1)*w; sx++ {
						columns := int64(min((sx+1)*sw, (x+1)*w) - max(sx*sw, x*w))
						sum += rows * columns * int64(pixels[(sy*w+sx)*channels+c])
					}
				}
				out = append(out, byte(sum/area))
			}
		}
	}
	return out
}
