package data

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data/formats/cifar"
	"github.com/fedfast/fedfast/data/formats/tff"
)

// tffFEMNISTSet is TFF's EMNIST by writers.
func tffFEMNISTSet() set {
	return set{SetInfo{
		Name: "tff-femnist",
		Doc:  "TensorFlow Federated's EMNIST: LEAF's FEMNIST, but another choice of writers and another split of their samples. Paper 1, ink 0",
		Kind: Image, Input: "28x28x1", Classes: femnistClasses,
		Clients: "3,400 writers", Samples: "671,585 + 77,483",
		Path: tffEMNIST.path(),
	}, func(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
		return loadTFFImages(ctx, cfg, tffEMNIST, "all_train", "all_test", femnistClasses)
	}}
}

// tffDigitsSet is the digits of TFF's EMNIST by writers.
func tffDigitsSet() set {
	return set{SetInfo{
		Name: "tff-femnist-digits",
		Doc:  "TensorFlow Federated's EMNIST, the digits only. Paper 1, ink 0",
		Kind: Image, Input: "28x28x1", Classes: digitClasses,
		Clients: "3,383 writers", Samples: "341,873 + 40,832",
		Path: tffDigits.path(),
	}, func(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
		return loadTFFImages(ctx, cfg, tffDigits, "digits_only_train", "digits_only_test", digitClasses)
	}}
}

// byClient returns the value of a client, a new one for the first time.
func byClient[T any](clients map[string]*T, id string) *T {
	c := clients[id]
	if c == nil {
		c = new(T)
		clients[strings.Clone(id)] = c
	}
	return c
}

func loadTFFImages(ctx context.Context, cfg *Config, files tffFiles, train, test string, classes int) (*Federation, []writer, error) {
	people := map[string]*[2]pixelRows{}
	err := files.read(ctx, cfg.Path, []string{train, test}, func(split, client string, of int64, e *tff.Example) error {
		label, err := e.Label("label", classes)
		if err != nil {
			return err
		}
		pixels, err := e.Floats("pixels", femnistSide*femnistSide)
		if err != nil {
			return err
		}
		rows := byClient(people, client)
		if split == train {
			rows[0].reserve(of, len(pixels))
			return rows[0].add(pixels, label)
		}
		return rows[1].add(pixels, label)
	})
	if err != nil {
		return nil, nil, err
	}
	return greyFederation(people, classes)
}

// tffCIFAR100Set is TFF's CIFAR-100.
func tffCIFAR100Set() set {
	return set{SetInfo{
		Name: "tff-cifar100",
		Doc:  "TensorFlow Federated's CIFAR-100: small colour pictures of 100 kinds of things, dealt by Pachinko allocation. The test samples are with 100 clients of their own, named test/0 and so on (data.unseen = true evaluates them)",
		Kind: Image, Input: "32x32x3", Classes: cifar100Classes,
		Clients: "500 clients + 100 with test samples only", Samples: "50,000 + 10,000",
		Path: tffCIFAR100.path(), Augments: []string{augmentFedEx, augmentCrop},
	}, loadTFFCIFAR100}
}

// The classes of CIFAR-100, and the groups of them.
const (
	cifar100Classes = 100
	cifar100Groups  = 20
)

// testOnly begins the names of CIFAR-100's clients with test samples only.
const testOnly = "test/"

// byteImages gathers images of bytes with their labels.
type byteImages struct {
	pixels []byte
	labels []int32
}

func loadTFFCIFAR100(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
	people := map[string]*byteImages{}
	err := tffCIFAR100.read(ctx, cfg.Path, []string{"train", "test"}, func(split, client string, _ int64, e *tff.Example) error {
		label, err := e.Label("label", cifar100Classes)
		if err != nil {
			return err
		}
		if _, err := e.Label("coarse_label", cifar100Groups); err != nil {
			return err
		}
		pixels, err := e.Ints("image", cifar.Pixels)
		if err != nil {
			return err
		}
		// Both kinds of clients are numbered from 0, and are others.
		if split == "test" {
			client = testOnly + client
		} else if strings.HasPrefix(client, testOnly) {
			return fmt.Errorf("is of a training client whose name begins with %s, as those of test clients do", testOnly)
		}
		rows := byClient(people, client)
		for i, v := range pixels {
			if v < 0 || v > 255 {
				return fmt.Errorf("pixel value %d of image is %d, must be in 0 to 255", i, v)
			}
			rows.pixels = append(rows.pixels, byte(v))
		}
		rows.labels = append(rows.labels, label)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	fed, writers := pictureFederation(cfg, people)
	return fed, writers, nil
}

// pictureFederation returns the federation and writers of CIFAR-100's images,
// whose map it empties. Clients named test/... have test samples only.
func pictureFederation(cfg *Config, people map[string]*byteImages) (*Federation, []writer) {
	var writers []writer
	side := 0
	for _, id := range slices.Sorted(maps.Keys(people)) {
		rows := people[id]
		var src source
		src, side = cfg.pictures(cifar.Side, slices.Clone(rows.pixels), rows.labels)
		all := span(src, 0, len(rows.labels))
		delete(people, id) // the source has a copy without spare room
		if strings.HasPrefix(id, testOnly) {
			writers = append(writers, writer{id: id, test: all})
		} else {
			writers = append(writers, writer{id: id, train: all})
		}
	}
	return &Federation{H: side, W: side, C: cifar.Colours, Classes: cifar100Classes}, writers
}
