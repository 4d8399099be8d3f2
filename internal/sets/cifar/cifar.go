// Package cifar holds the sets CIFAR-10 and CIFAR-100, dealt to clients, and reads
// their binary versions: records of one label byte, or of a coarse and a fine one,
// and 3,072 pixels, 1,024 red, then green, then blue, row by row.
package cifar

import (
	"fmt"

	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/sys/memory"
)

// The form of an image, and the number of classes: of CIFAR-10, and fine and
// coarse ones of CIFAR-100.
const (
	Side    = 32
	Colours = 3
	Pixels  = Side * Side * Colours
	Classes = 10
	Fine    = 100
	Coarse  = 20
)

// Set holds images with their labels.
type Set struct {
	Pixels []byte // Pixels bytes an image: row by row, R, G, B of each pixel together
	Labels []int32
}

// Read appends the records of a file of CIFAR-10, plain or gzip, to s. Any
// number of records will do.
func (s *Set) Read(path string) error { return s.read(path, []label{{"label", Classes}}, 0) }

// ReadFine appends the records of a file of CIFAR-100 with their fine labels.
func (s *Set) ReadFine(path string) error { return s.read(path, labels100, 1) }

// ReadCoarse appends the records of a file of CIFAR-100 with their coarse labels.
func (s *Set) ReadCoarse(path string) error { return s.read(path, labels100, 0) }

// label is one label byte of a record.
type label struct {
	name    string
	classes byte
}

// labels100 are the label bytes of CIFAR-100.
var labels100 = []label{{"coarse label", Coarse}, {"fine label", Fine}}

// read appends the records of a file that begin with the given label bytes, and
// keeps label number use.
func (s *Set) read(path string, labels []label, use int) error {
	content, err := gzfile.ReadAll(path)
	if err != nil {
		return err
	}
	record := len(labels) + Pixels
	if len(content) == 0 || len(content)%record != 0 {
		return fmt.Errorf("%s: %d bytes are not a multiple of the record size of %d bytes; is the file complete?", path, len(content), record)
	}
	if err := memory.Check(int64(len(s.Pixels) + len(content))); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	have := len(s.Pixels)
	s.Pixels = append(s.Pixels, make([]byte, len(content)/record*Pixels)...)
	out := s.Pixels[have:]
	for n := 0; n < len(content); n += record {
		for i, l := range labels {
			if v := content[n+i]; v >= l.classes {
				return fmt.Errorf("%s: record %d has %s %d, must be below %d", path, n/record+1, l.name, v, l.classes)
			}
		}
		s.Labels = append(s.Labels, int32(content[n+use]))
		planes := content[n+len(labels) : n+record]
		red, green, blue := planes[:Side*Side], planes[Side*Side:2*Side*Side], planes[2*Side*Side:]
		for p := range red {
			out[3*p], out[3*p+1], out[3*p+2] = red[p], green[p], blue[p]
		}
		out = out[Pixels:]
	}
	return nil
}
