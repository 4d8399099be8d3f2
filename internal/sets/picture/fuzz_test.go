package picture

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/test/memtest"
)

// sample is a picture in PNG or in JPEG.
func sample(t testing.TB, side int, lossy bool) []byte {
	t.Helper()
	var out bytes.Buffer
	m := image.NewRGBA(image.Rect(0, 0, side, side))
	for i := range m.Pix {
		m.Pix[i] = byte(i * i / 7)
	}
	var err error
	if lossy {
		err = jpeg.Encode(&out, m, nil)
	} else {
		err = png.Encode(&out, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestScans: a JPEG that goes through its pixels over and over is refused.
func TestScans(t *testing.T) {
	whole := sample(t, 16, true)
	at := bytes.Index(whole, []byte("\xff\xda"))
	scans := append(bytes.Clone(whole), bytes.Repeat(whole[at:at+14], maxScans)...)
	if _, err := Decode(whole, memory.NewBudget(0), nil); err != nil {
		t.Error(err)
	}
	if _, err := Decode(scans, memory.NewBudget(0), nil); err == nil ||
		err.Error() != "it has 101 scans, must have at most 100" {
		t.Errorf("error %v", err)
	}
}

// FuzzDecode: any bytes give a picture or one line, in bounded memory and time.
func FuzzDecode(f *testing.F) {
	for _, lossy := range []bool{false, true} {
		whole := sample(f, 20, lossy)
		f.Add(whole)
		for _, b := range []byte{0, 0x7f, 0xff} {
			changed := bytes.Clone(whole)
			for _, at := range []int{16, 17, 20, 21, 160, 161, 163, 164} { // sides, more or less
				changed[at] = b
			}
			f.Add(changed)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		memtest.Bounded(t, len(content), func() {
			m, err := Decode(content, memory.NewBudget(int64(len(content))), nil)
			switch {
			case err != nil && strings.Contains(err.Error(), "\n"):
				t.Errorf("error %q", err)
			case err == nil:
				if size := m.Bounds().Size(); len(Append(nil, m, 3)) != 3*size.X*size.Y {
					t.Errorf("a picture of %v", size)
				}
			}
		})
	})
}
