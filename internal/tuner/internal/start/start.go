// Package start reads where a client tuner starts from: what its trial has.
package start

import (
	"fmt"

	"github.com/fedfast/fedfast/tuners"
)

// Dims returns the dimensions of the space that match the patterns. Each must have a
// value in the params of the trial; the error names the tuner.
func Dims(name string, req tuners.OpenRequest, patterns ...string) (tuners.Space, error) {
	space := req.Space.Matching(patterns...)
	for _, d := range space {
		v, ok := req.Params[d.Name]
		if !ok {
			return nil, fmt.Errorf("%s: trial %d has no %s, which it starts from", name, req.Trial, d.Name)
		}
		if err := d.Contains(v); err != nil {
			return nil, fmt.Errorf("%s: trial %d: %w", name, req.Trial, err)
		}
	}
	return space, nil
}
