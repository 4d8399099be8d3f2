package tff

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/sets/cifar"
	"github.com/fedfast/fedfast/internal/sets/grey"
)

// Sets returns the family: tff-femnist, tff-femnist-digits, tff-shakespeare,
// tff-cifar100 and stackoverflow.
func Sets() []data.Set {
	return []data.Set{femnistSet(), digitsSet(), shakespeareSet(), cifar100Set(), stackOverflowSet(), tagsSet()}
}

// The classes of EMNIST, and of its digits.
const (
	femnistClasses = 62
	digitClasses   = 10
)

// emnist is a set of TFF's EMNIST by writers, of groups of its file.
func emnist(train, test string, info data.SetInfo) data.Set {
	info.Kind, info.Input, info.Path = data.Image, "28x28x1", emnistFile.path()
	load := func(ctx context.Context, c data.Config) (*data.Federation, []data.Examples, error) {
		return loadImages(ctx, c, train, test, info.Classes)
	}
	return data.Set{SetInfo: info, Load: load}
}

func femnistSet() data.Set {
	return emnist("all_train", "all_test", data.SetInfo{
		Name: "tff-femnist",
		Doc: "TensorFlow Federated's EMNIST: LEAF's FEMNIST, but another choice of writers and another split of their samples. " +
			"Paper 1, ink 0",
		Classes: femnistClasses, Clients: "3,400 writers", Samples: "671,585 + 77,483",
		Published: []data.Published{{Source: "TFF", Totals: data.Totals{Clients: 3400, Train: 671_585, Test: 77_483}}},
	})
}

func digitsSet() data.Set {
	return emnist("digits_only_train", "digits_only_test", data.SetInfo{
		Name: "tff-femnist-digits", Doc: "TensorFlow Federated's EMNIST, the digits only. Paper 1, ink 0",
		Classes: digitClasses, Clients: "3,383 writers", Samples: "341,873 + 40,832",
		Published: []data.Published{{Source: "TFF", Totals: data.Totals{Clients: 3383, Train: 341_873, Test: 40_832}}},
	})
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

func loadImages(ctx context.Context, cfg data.Config, train, test string, classes int) (*data.Federation, []data.Examples, error) {
	people := map[string]*[2]grey.Rows{}
	err := emnistFile.read(ctx, cfg.Path, []string{train, test}, func(split, client string, of int64, e *Example) error {
		label, err := e.Label("label", classes)
		if err != nil {
			return err
		}
		pixels, err := e.Floats("pixels", grey.Side*grey.Side)
		if err != nil {
			return err
		}
		rows := byClient(people, client)
		if split == train {
			rows[0].Reserve(of, len(pixels))
			return rows[0].Add(pixels, label)
		}
		return rows[1].Add(pixels, label)
	})
	if err != nil {
		return nil, nil, err
	}
	return grey.Federation(people, classes)
}

// cifar100Set is TFF's CIFAR-100.
func cifar100Set() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "tff-cifar100",
		Doc: "TensorFlow Federated's CIFAR-100: small colour pictures of 100 kinds of things, dealt by Pachinko " +
			"allocation. The test samples are with 100 clients of their own, named test/0 and so on (data.unseen = true " +
			"evaluates them)",
		Kind: data.Image, Input: "32x32x3", Classes: cifar.Fine,
		Clients: "500 clients + 100 with test samples only", Samples: "50,000 + 10,000",
		Published: []data.Published{{Source: "TFF", Totals: data.Totals{Clients: 500, TestOnly: 100, Train: 50_000, Test: 10_000}}},
		Path:      cifar100File.path(), Augments: []string{data.AugmentFedEx, data.AugmentFedExTrain, data.AugmentCrop},
	}, Load: loadCIFAR100}
}

// testOnly begins the names of CIFAR-100's clients with test samples only.
const testOnly = "test/"

// byteImages gathers images of bytes with their labels.
type byteImages struct {
	pixels []byte
	labels []int32
}

func loadCIFAR100(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	people := map[string]*byteImages{}
	err := cifar100File.read(ctx, cfg.Path, []string{"train", "test"}, func(split, client string, _ int64, e *Example) error {
		label, err := e.Label("label", cifar.Fine)
		if err != nil {
			return err
		}
		if _, err := e.Label("coarse_label", cifar.Coarse); err != nil {
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
func pictureFederation(cfg data.Config, people map[string]*byteImages) (*data.Federation, []data.Examples) {
	var writers []data.Examples
	side := 0
	for _, id := range slices.Sorted(maps.Keys(people)) {
		rows := people[id]
		var all data.View
		all, side = data.ColourView(cifar.Side, slices.Clone(rows.pixels), rows.labels, cfg.Augment)
		delete(people, id) // the view has a copy without spare room
		if strings.HasPrefix(id, testOnly) {
			writers = append(writers, data.Examples{Client: id, Test: all})
		} else {
			writers = append(writers, data.Examples{Client: id, Train: all})
		}
	}
	return &data.Federation{H: side, W: side, C: cifar.Colours, Classes: cifar.Fine}, writers
}
