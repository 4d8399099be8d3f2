// Package glyphs draws a federation of synthetic writers, the data set "glyphs" of
// tests. Importing it registers the set.
//
// The set is SYNTHETIC. No person wrote any of it: the images are characters of
// freely licensed fonts, bent, slanted, thickened and spotted by a random
// generator, so that a test can have a federation of any size.
//
// One client is one writer. A writer has a face, a slant, a turn, a size, an
// aspect, a stroke width, habits of its own in the shape of each character, an
// unsteady hand that bends every sample anew, a pen with its own softness and
// contrast, and paper with its own noise. Writers own different numbers of
// samples (log-normal) and use the 62 classes in different proportions (a
// logistic-normal mix). Classes, image size and polarity follow LEAF's
// FEMNIST: labels 0-61 are 0-9, A-Z, a-z; 28x28 grey pixels; paper 255, ink 0.
// As in cropped handwriting, a character's size says little about its case, so
// pairs such as c/C, o/O/0 and l/I/1 stay partly ambiguous.
//
// Generation depends on the Config alone. Every pixel comes from IEEE additions,
// multiplications, divisions and square roots; every inexact product that is added
// to something is converted explicitly, because Go may fuse the two, also across
// statements. So a seed gives the same bytes on every CPU and for every number of
// goroutines.
//
// Fonts and their licences: the Go fonts (Bigelow & Holmes, BSD-style licence of
// the Go project), Liberation (SIL Open Font License 1.1), DejaVu (Bitstream Vera
// and Arev licences, with mathematical extensions in the public domain), Latin
// Modern (GUST Font License), STIX Two (SIL Open Font License 1.1). The Go modules
// that carry them are under BSD-3-Clause licences. Together they add 5.2 MB to a
// binary, which the program does not carry.
package glyphs

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// Classes is the number of classes.
	Classes = 62
	// Side is the width and height of an image in pixels.
	Side = 28
	// Pixels is the number of bytes of one image.
	Pixels = Side * Side

	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

const (
	defaultClients     = 280
	defaultMeanSamples = 100
	minMeanSamples     = 5
)

// Config describes which federation to draw. The zero Config is valid.
type Config struct {
	Seed        uint64 // every seed is another federation
	Clients     int    // number of writers; 0 means 280
	MeanSamples int    // mean samples of a writer, at least 5; 0 means 100. Sizes range from a fifth to three times of it
	Workers     int    // goroutines to draw with; 0 means GOMAXPROCS. Does not change the result
}

// Set is a synthetic federation.
type Set struct {
	Writers []Writer
}

// Writer is one client: n images with their labels, in the order drawn.
type Writer struct {
	ID     string
	Images []byte  // n*Pixels bytes, row by row; 255 is paper, 0 is ink
	Labels []uint8 // n labels in [0, Classes)
}

// Generate draws the federation of cfg. Writer i depends on cfg.Seed,
// cfg.MeanSamples and i only: more clients append writers and change none.
func Generate(ctx context.Context, cfg Config) (*Set, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	faces, err := loadFaces()
	if err != nil {
		return nil, err
	}
	set := &Set{Writers: make([]Writer, cfg.Clients)}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(cfg.Workers, cfg.Clients) {
		group.Go(func() {
			var c canvas
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= cfg.Clients {
					return
				}
				set.Writers[i] = drawWriter(&c, faces, cfg, i)
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("draw glyphs: %w", err)
	}
	return set, nil
}

// Bytes returns about how much memory the federation of cfg takes, images, labels
// and writers.
func (cfg Config) Bytes() int64 {
	clients, samples := cmp.Or(cfg.Clients, defaultClients), cmp.Or(cfg.MeanSamples, defaultMeanSamples)
	const writer = 200 // its name, slices and habits
	bytes := float64(clients) * (writer + float64(samples)*(Pixels+1+4))
	return int64(min(bytes, math.MaxInt64/2))
}

func (cfg Config) resolve() (Config, error) {
	if cfg.Clients < 0 {
		return cfg, fmt.Errorf("glyphs: %d clients: want 1 or more, or 0 for %d", cfg.Clients, defaultClients)
	}
	if cfg.Clients == 0 {
		cfg.Clients = defaultClients
	}
	if cfg.MeanSamples == 0 {
		cfg.MeanSamples = defaultMeanSamples
	}
	if cfg.MeanSamples < minMeanSamples {
		return cfg, fmt.Errorf("glyphs: a mean of %d samples: want %d or more, or 0 for %d",
			cfg.MeanSamples, minMeanSamples, defaultMeanSamples)
	}
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	return cfg, nil
}
