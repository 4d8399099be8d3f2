package picture

import (
	"image"
	"image/color"
	"slices"
	"testing"
)

func TestAppend(t *testing.T) {
	grey, colour := image.NewGray(image.Rect(1, 1, 3, 2)), image.NewNRGBA(image.Rect(0, 0, 1, 2))
	grey.SetGray(1, 1, color.Gray{7})
	grey.SetGray(2, 1, color.Gray{9})
	colour.SetNRGBA(0, 0, color.NRGBA{1, 2, 3, 4})
	colour.SetNRGBA(0, 1, color.NRGBA{250, 251, 252, 255})
	if got := Append(nil, grey, Channels(nil, grey)); !slices.Equal(got, []byte{7, 9}) {
		t.Errorf("grey gives %v", got)
	}
	if got := Append(nil, grey, 3); !slices.Equal(got, []byte{7, 7, 7, 9, 9, 9}) {
		t.Errorf("grey in colours gives %v", got)
	}
	if got := Append(nil, colour, Channels(nil, colour)); !slices.Equal(got, []byte{1, 2, 3, 250, 251, 252}) {
		t.Errorf("colours give %v", got)
	}
}

// TestTurned reads the orientation in both orders of bytes.
func TestTurned(t *testing.T) {
	const little = "II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00"
	const big = "MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01"
	for exif, want := range map[string]bool{
		little + "\x06\x00": true, little + "\x01\x00": false, little: false, little + "\x09\x00": false,
		big + "\x00\x03": true, big + "\x00\x01": false, big: false, "": false,
	} {
		if got := Turned([]byte("\xff\xd8\xff\xe1\x00\x22Exif\x00\x00" + exif)); got != want {
			t.Errorf("%q: %v, want %v", exif, got, want)
		}
	}
	if Turned([]byte("\xff\xd8" + little + "\x06\x00")) {
		t.Error("what is not in EXIF counts")
	}
}

// TestResize checks means over areas, whole ones and shares of them.
func TestResize(t *testing.T) {
	for _, c := range []struct {
		pixels               []byte
		w, h, channels, x, y int
		want                 []byte
	}{
		{[]byte{1, 2, 3, 4}, 2, 2, 1, 2, 2, []byte{1, 2, 3, 4}},
		{[]byte{1, 2, 3, 6}, 2, 2, 1, 1, 1, []byte{3}},
		{[]byte{0, 90, 255, 30, 60, 120}, 2, 1, 3, 1, 1, []byte{15, 75, 188}},
		{[]byte{0, 30, 90}, 3, 1, 1, 2, 1, []byte{10, 70}},
		{[]byte{10, 40}, 1, 2, 1, 1, 3, []byte{10, 25, 40}},
	} {
		if got := Resize(c.pixels, c.w, c.h, c.channels, c.x, c.y); !slices.Equal(got, c.want) {
			t.Errorf("%v at %d x %d gives %v, want %v", c.pixels, c.x, c.y, got, c.want)
		}
	}
}
