// Command _small writes small.png, the picture in which fashion-small is embedded: 11,000 images of
// Fashion-MNIST as Debian's package dataset-fashion-mnist installs them. In the folder internal/sets/mnist:
//
//	go run ./_small
//
// Every class has eleven rows of 100 images, the first of the class in the files: nine rows of training
// images, two of test images. The pixels are exactly as in the files.
package main

import (
	"image"
	"image/png"
	"log"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/internal/sets/mnist"
)

const (
	files   = "/usr/share/datasets/fashion-mnist"
	classes = 10
	columns = 100
	side    = 28
)

func main() {
	const train, test = 9, 2 // rows of a class
	small := image.NewGray(image.Rect(0, 0, columns*side, classes*(train+test)*side))
	place(small, "train", 0, train)
	place(small, "t10k", train, test)
	out, err := os.Create("small.png")
	check(err)
	check((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, small))
	check(out.Close())
}

// place puts the first images of each class into its rows from first on.
func place(small *image.Gray, part string, first, rows int) {
	images, err := mnist.ReadImages(filepath.Join(files, part+"-images-idx3-ubyte.gz"))
	check(err)
	labels, err := mnist.ReadLabels(filepath.Join(files, part+"-labels-idx1-ubyte.gz"))
	check(err)
	var placed [classes]int
	for i, class := range labels {
		n := placed[class]
		if n == rows*columns {
			continue
		}
		placed[class]++
		row, column := int(class)*small.Rect.Dy()/side/classes+first+n/columns, n%columns
		for y := range side {
			copy(small.Pix[small.PixOffset(column*side, row*side+y):][:side], images.Pixels[(i*side+y)*side:])
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
