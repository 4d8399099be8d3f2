package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sets/npz"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// halvesFile is what the folder of Config.Keep has the halves as.
const halvesFile = "halves.npz"

// The numbers to predict are the mean ink of squares: two rows of four of 4 x 4 pixels,
// right below the middle of an image. Further out there is paper in nearly every image,
// and R2, a mean over the numbers, would say how well that is told from paper.
const (
	square               = 4
	squaresUp, squaresOn = 2, 4
)

// halves is a regression made of the images of the methods' data: from the ink of the
// upper half of each, 0 to 255, that of squares of its lower half, 0 to 1. Writers stay
// the clients, and test samples test samples. It is a file of numpy.savez that is opened
// as anybody's own.
type halves struct {
	preset  string   // of the images
	sets    []string // of them
	folder  string   // keeps the file; empty keeps none
	archive []byte   // once it was made
}

// open opens the halves as a configuration says.
func (h *halves) open(ctx context.Context, c *config.Config) (*data.Federation, error) {
	if h.archive == nil {
		var err error
		if h.archive, err = h.make(ctx); err != nil {
			return nil, err
		}
	}
	folder := h.folder
	if folder == "" {
		temporary, err := os.MkdirTemp("", "fedfast-halves-")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(temporary) }() // what is left of it is in nobody's way
		folder = temporary
	}
	with := *c
	with.Data.Path = filepath.Join(folder, halvesFile)
	if err := wholefile.Write(with.Data.Path, h.archive, 0o644); err != nil {
		return nil, err
	}
	return config.OpenData(ctx, &with)
}

// make returns the file.
func (h *halves) make(ctx context.Context) ([]byte, error) {
	seed := uint64(1)
	c, err := config.Load(config.Source{Preset: h.preset, Sets: h.sets, Seed: &seed})
	if err != nil {
		return nil, err
	}
	fed, err := config.OpenData(ctx, c)
	if err != nil {
		return nil, err
	}
	if fed.Kind != data.Image || fed.C != 1 || fed.H/2 < squaresUp*square || fed.W < squaresOn*square {
		return nil, fmt.Errorf("data %s has no grayscale images large enough to be halved", fed.Name)
	}
	var train, test cutImages
	for i := range fed.Clients {
		for _, part := range []struct {
			of   *cutImages
			view data.View
		}{{&train, fed.Clients[i].Train}, {&train, fed.Clients[i].Val}, {&test, fed.Clients[i].Test}} {
			if err := part.of.add(fed, fed.Clients[i].ID, part.view); err != nil {
				return nil, err
			}
		}
	}
	var out bytes.Buffer
	err = npz.Write(&out, true, slices.Concat(train.columns(fed, ""), test.columns(fed, "_test"))...)
	return out.Bytes(), err
}

// cutImages are upper halves as bytes, what is to be predicted of the lower ones, and
// whose they are.
type cutImages struct {
	upper  []uint8
	lower  []float32
	client []string
}

// add adds a client's images.
func (x *cutImages) add(fed *data.Federation, client string, v data.View) error {
	image, label := make([]float32, fed.H*fed.W), make([]int32, 1)
	for i := range v.Len() {
		if err := v.Fill([]int32{int32(i)}, image, nil, label, nil); err != nil {
			return err
		}
		for _, paper := range image[:fed.H/2*fed.W] {
			x.upper = append(x.upper, uint8(255*(1-paper)+0.5))
		}
		for up := range squaresUp {
			for on := range squaresOn {
				x.lower = append(x.lower, ink(image, fed.W, fed.H/2+up*square, (fed.W-squaresOn*square)/2+on*square))
			}
		}
		x.client = append(x.client, client)
	}
	return nil
}

// ink is the mean of the square that begins at a row and a column of an image.
func ink(image []float32, width, row, column int) float32 {
	sum := float32(0)
	for i := row; i < row+square; i++ {
		for _, paper := range image[i*width+column : i*width+column+square] {
			sum += 1 - paper
		}
	}
	return sum / (square * square)
}

// columns returns the arrays of the file, whose names end in a suffix.
func (x *cutImages) columns(fed *data.Federation, suffix string) []npz.Column {
	n := len(x.client)
	return []npz.Column{
		{Name: "x" + suffix, Shape: []int{n, fed.H / 2, fed.W}, Values: x.upper},
		{Name: "y" + suffix, Shape: []int{n, squaresUp * squaresOn}, Values: x.lower},
		{Name: "client" + suffix, Shape: []int{n}, Values: x.client},
	}
}
