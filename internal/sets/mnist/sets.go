package mnist

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"image"
	"image/png"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/deal"
	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/list"
)

// Sets returns the family: fashion-small, mnist, qmnist and fashion-mnist.
func Sets() []data.Set { return []data.Set{smallSet(), mnistSet(), qmnistSet(), fashionSet()} }

// digitClasses is the number of classes of every set of the family.
const digitClasses = 10

// debianFashion is where Debian's package dataset-fashion-mnist puts the set.
const debianFashion = "/usr/share/datasets/fashion-mnist"

// mnistSet is MNIST, dealt to clients.
func mnistSet() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "mnist", Doc: "MNIST: handwritten digits, ink 1; no clients of its own, see qmnist for its writers",
		Kind: data.Image, Input: "28x28x1", Classes: digitClasses, Clients: "dealt by data.partition", Samples: "60,000 + 10,000",
		Published: []data.Published{{Source: "MNIST", Totals: data.Totals{Train: 60_000, Test: 10_000}}},
		Path:      "a folder with train-images-idx3-ubyte, train-labels-idx1-ubyte and the t10k files, plain or .gz", Dealt: true,
	}, Load: loadMNIST}
}

// fashionSet is Fashion-MNIST, dealt to clients.
func fashionSet() data.Set {
	s := mnistSet()
	s.Name = "fashion-mnist"
	s.Doc = "Fashion-MNIST: pictures of clothes; no clients of its own; a part of it is embedded, see fashion-small"
	s.Path += " (Debian's package dataset-fashion-mnist puts them in " + debianFashion + ")"
	s.DefaultPath = debianFashion
	s.Published = []data.Published{{Source: "Fashion-MNIST", Totals: data.Totals{Train: 60_000, Test: 10_000}}}
	return s
}

// qmnistSet is MNIST with QMNIST's extended labels: a client is a writer.
func qmnistSet() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "qmnist", Doc: "MNIST with QMNIST's writers; one client is one writer, those of the test images are others",
		Kind: data.Image, Input: "28x28x1", Classes: digitClasses, Clients: "539 writers, and 297 others with test images only", Samples: "60,000 + 10,000",
		Published: []data.Published{{Source: "QMNIST's labels of MNIST", Totals: data.Totals{Clients: 539, TestOnly: 297, Train: 60_000, Test: 10_000}}},
		Path:      "a folder with MNIST's (or QMNIST's) image files and qmnist-train-labels-idx2-int, qmnist-test-labels-idx2-int, plain or .gz",
	}, Load: loadQMNIST}
}

func loadMNIST(_ context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	if _, err := os.Stat(cfg.Path); err != nil {
		return nil, nil, fmt.Errorf("data.path: %w", err)
	}
	images, train, err := readIDX(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	var labels []int32
	for i, name := range []string{"train-labels-idx1-ubyte", "t10k-labels-idx1-ubyte"} {
		path, err := gzfile.Find(cfg.Path, name)
		if err != nil {
			return nil, nil, err
		}
		classes, err := ReadLabels(path)
		if err != nil {
			return nil, nil, err
		}
		if want := []int{train, images.N - train}[i]; len(classes) != want {
			return nil, nil, fmt.Errorf("%s: %d labels of %d images", path, len(classes), want)
		}
		for j, class := range classes {
			if class >= digitClasses {
				return nil, nil, fmt.Errorf("%s: label %d is %d, must be below %d", path, j+1, class, digitClasses)
			}
			labels = append(labels, int32(class))
		}
	}
	fed := &data.Federation{H: images.H, W: images.W, C: 1, Classes: digitClasses}
	all := data.ImageView(images.H, images.W, 1, images.Pixels, labels)
	return fed, []data.Examples{{Train: all.Part(0, train), Test: all.Part(train, images.N), Pooled: true}}, nil
}

// readIDX reads the training images of a folder, then its test images, and says
// how many are for training.
func readIDX(dir string) (all *Images, train int, err error) {
	for _, names := range [][]string{
		{"train-images-idx3-ubyte", "qmnist-train-images-idx3-ubyte"},
		{"t10k-images-idx3-ubyte", "qmnist-test-images-idx3-ubyte"},
	} {
		path, err := gzfile.Find(dir, names...)
		if err != nil {
			return nil, 0, err
		}
		images, err := ReadImages(path)
		switch {
		case err != nil:
			return nil, 0, err
		case all == nil:
			all, train = images, images.N
			continue
		case images.H != all.H || images.W != all.W:
			return nil, 0, fmt.Errorf("%s: images of %dx%d, the training images are %dx%d", path, images.H, images.W, all.H, all.W)
		}
		all.N += images.N
		all.Pixels = append(all.Pixels, images.Pixels...)
	}
	return all, train, nil
}

// The columns of QMNIST's extended labels that are used.
const (
	columnClass  = 0
	columnWriter = 2
)

func loadQMNIST(_ context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	images, train, err := readIDX(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	labels := make([]int32, images.N)
	trainOf, testOf := map[int32][]int32{}, map[int32][]int32{}
	for _, part := range []struct {
		name       string
		first, end int
		of         map[int32][]int32
	}{{"qmnist-train-labels-idx2-int", 0, train, trainOf}, {"qmnist-test-labels-idx2-int", train, images.N, testOf}} {
		path, err := gzfile.Find(cfg.Path, part.name)
		if err != nil {
			return nil, nil, err
		}
		table, err := ReadTable(path)
		if err != nil {
			return nil, nil, err
		}
		// The test table goes on where MNIST's 10,000 test images end.
		if table.Rows < part.end-part.first || table.Columns <= columnWriter {
			return nil, nil, fmt.Errorf("%s: %d rows of %d numbers; %d images need as many rows with class, series and writer", path, table.Rows, table.Columns, part.end-part.first)
		}
		for i := part.first; i < part.end; i++ {
			class, w := table.At(i-part.first, columnClass), table.At(i-part.first, columnWriter)
			if class < 0 || class >= digitClasses {
				return nil, nil, fmt.Errorf("%s: row %d has class %d, must be in [0, %d)", path, i-part.first+1, class, digitClasses)
			}
			labels[i] = class
			part.of[w] = append(part.of[w], int32(i))
		}
	}
	all := data.ImageView(images.H, images.W, 1, images.Pixels, labels)
	var ids []int32
	for w := range trainOf {
		ids = append(ids, w)
	}
	for w := range testOf {
		if trainOf[w] == nil {
			ids = append(ids, w)
		}
	}
	slices.Sort(ids)
	writers := list.Of(ids, func(w int32) data.Examples {
		return data.Examples{Client: strconv.Itoa(int(w)), Train: all.Pick(trainOf[w]), Test: all.Pick(testOf[w])}
	})
	return &data.Federation{H: images.H, W: images.W, C: 1, Classes: digitClasses}, writers, nil
}

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
