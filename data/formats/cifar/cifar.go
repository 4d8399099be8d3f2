// Package cifar reads the binary version of CIFAR-10: records of a label byte
// and 3,072 pixels, 1,024 red, then green, then blue, row by row.
package cifar

import (
	"fmt"

	"github.com/fedfast/fedfast/data/formats/gzfile"
)

// The form of an image, and the number of classes.
const (
	Side    = 32
	Colours = 3
	Pixels  = Side * Side * Colours
	Classes = 10
)

const record = 1 + Pixels

// Set holds images with their labels.
type Set struct {
	Pixels []byte // Pixels bytes an image: row by row, R, G, B of each pixel together
	Labels []int32
}

// Read appends the records of a file, plain or gzip, to s. Any number of
// records will do.
func (s *Set) Read(path string) error {
	content, err := gzfile.ReadAll(path)
	if err != nil {
		return err
	}
	if len(content) == 0 || len(content)%record != 0 {
		return fmt.Errorf("%s: %d bytes are not a whole number of records of %d bytes; is the file complete?", path, len(content), record)
	}
	have := len(s.Pixels)
	s.Pixels = append(s.Pixels, make([]byte, len(content)/record*Pixels)...)
	out := s.Pixels[have:]
	for n := 0; n < len(content); n += record {
		label := content[n]
		if label >= Classes {
			return fmt.Errorf("%s: record %d has label %d, must be below %d", path, n/record+1, label, Classes)
		}
		s.Labels = append(s.Labels, int32(label))
		planes := content[n+1 : n+record]
		red, green, blue := planes[:Side*Side], planes[Side*Side:2*Side*Side], planes[2*Side*Side:]
		for p := range red {
			out[3*p], out[3*p+1], out[3*p+2] = red[p], green[p], blue[p]
		}
		out = out[Pixels:]
	}
	return nil
}
