package mnist

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"image"
	"image/png"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/deal"
)

// smallPNG has images of Fashion-MNIST side by side, see _small. Its licence is small.LICENSE.
//
//go:embed small.png
var smallPNG []byte

// The places of the images in smallPNG.
const (
	side         = 28
	smallColumns = 100
	smallTrain   = 9 // rows of a class with training images
	smallTest    = 2 // rows behind them, with test images
)

// smallSet is the embedded part of Fashion-MNIST.
func smallSet() data.Set {
	s := fashionSet()
	s.Name = "fashion-small"
	s.Doc = "a part of Fashion-MNIST (pictures of clothes; MIT licence, Zalando SE) inside the program: " +
		"the first 900 training and 200 test images of each class; see fashion-mnist for all"
	s.Clients = "100 by default, dealt by a Dirichlet distribution of 0.3 a class (data.alpha = 3)"
	s.Samples = "9,000 + 2,000"
	s.Published = []data.Published{{Source: "the program", Totals: data.Totals{Train: 9_000, Test: 2_000}}}
	s.Path, s.DefaultPath = "", ""
	s.Partition, s.Alpha = deal.WayDirichlet, 3
	s.Load = loadSmall
	return s
}

// small decodes smallPNG, once.
var small = sync.OnceValues(func() (data.Examples, error) {
	decoded, err := png.Decode(bytes.NewReader(smallPNG))
	if err != nil {
		return data.Examples{}, fmt.Errorf("decode the embedded images: %w", err)
	}
	grey, ok := decoded.(*image.Gray)
	if !ok || grey.Rect != image.Rect(0, 0, smallColumns*side, digitClasses*(smallTrain+smallTest)*side) {
		return data.Examples{}, fmt.Errorf("the embedded images are %T of %v", decoded, decoded.Bounds())
	}
	var pixels, testPixels []byte
	var labels, testLabels []int32
	for at := range grey.Rect.Dy() / side * smallColumns {
		row, column := at/smallColumns, at%smallColumns
		to, classes := &pixels, &labels
		if row%(smallTrain+smallTest) >= smallTrain {
			to, classes = &testPixels, &testLabels
		}
		for y := range side {
			*to = append(*to, grey.Pix[grey.PixOffset(column*side, row*side+y):][:side]...)
		}
		*classes = append(*classes, int32(row/(smallTrain+smallTest)))
	}
	all := data.ImageView(side, side, 1, slices.Concat(pixels, testPixels), slices.Concat(labels, testLabels))
	return data.Examples{Train: all.Part(0, len(labels)), Test: all.Part(len(labels), all.Len()), Pooled: true}, nil
})

func loadSmall(context.Context, data.Config) (*data.Federation, []data.Examples, error) {
	examples, err := small()
	if err != nil {
		return nil, nil, err
	}
	return &data.Federation{H: side, W: side, C: 1, Classes: digitClasses}, []data.Examples{examples}, nil
}
