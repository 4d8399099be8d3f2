package cifar

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// The values of data.labels.
const (
	labelsFine   = "fine"
	labelsCoarse = "coarse"
)

// Sets returns the family: cifar10 and cifar100.
func Sets() []data.Set { return []data.Set{cifar10Set(), cifar100Set()} }

// cifar10Set is CIFAR-10, dealt to clients.
func cifar10Set() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "cifar10",
		Doc: "CIFAR-10: small colour pictures of 10 kinds of things; no clients of its own. FedEx's way: data.split = " +
			"\"80/20/files\", data.clients = 500, data.samples = 100, data.augment = \"fedex-cifar\"",
		Kind: data.Image, Input: "32x32x3", Classes: Classes, Clients: "dealt by data.partition", Samples: "50,000 + 10,000 in full",
		Published: []data.Published{{Source: "CIFAR-10", Totals: data.Totals{Train: 50_000, Test: 10_000}}},
		Path:      "the folder of the binary version: data_batch_1.bin and so on, and test_batch.bin, plain or .gz (or the folder that holds cifar-10-batches-bin)",
		Augments:  []string{data.AugmentFedEx, data.AugmentFedExTrain, data.AugmentCrop}, Dealt: true,
	}, Load: loadCIFAR10}
}

func loadCIFAR10(_ context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	dir, err := folder(cfg.Path, "cifar-10-batches-bin")
	if err != nil {
		return nil, nil, err
	}
	var all Set
	for batch := 1; ; batch++ {
		path, err := gzfile.Find(dir, "data_batch_"+strconv.Itoa(batch)+".bin")
		if err != nil {
			if batch == 1 {
				return nil, nil, err
			}
			break
		}
		if err := all.Read(path); err != nil {
			return nil, nil, err
		}
	}
	train := len(all.Labels)
	path, err := gzfile.Find(dir, "test_batch.bin")
	if err != nil {
		return nil, nil, err
	}
	if err := all.Read(path); err != nil {
		return nil, nil, err
	}
	return pooled(&all, Classes, train, cfg.Augment)
}

// cifar100Set is CIFAR-100, dealt to clients.
func cifar100Set() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "cifar100",
		Doc:  "CIFAR-100: small colour pictures of 100 kinds of things in 20 groups; no clients of its own. data.labels chooses the kinds (fine) or the groups (coarse)",
		Kind: data.Image, Input: "32x32x3", Classes: Fine, Clients: "dealt by data.partition", Samples: "50,000 + 10,000 in full",
		Published: []data.Published{{Source: "CIFAR-100", Totals: data.Totals{Train: 50_000, Test: 10_000}}},
		Path:      "the folder of the binary version: train.bin and test.bin, plain or .gz (or the folder that holds cifar-100-binary)",
		Augments:  []string{data.AugmentFedEx, data.AugmentFedExTrain, data.AugmentCrop}, Labels: []string{labelsFine, labelsCoarse}, Dealt: true,
	}, Load: loadCIFAR100}
}

func loadCIFAR100(_ context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	dir, err := folder(cfg.Path, "cifar-100-binary")
	if err != nil {
		return nil, nil, err
	}
	var all Set
	read, classes := all.ReadFine, Fine
	if cfg.Labels == labelsCoarse {
		read, classes = all.ReadCoarse, Coarse
	}
	train := 0
	for _, name := range []string{"train.bin", "test.bin"} {
		train = len(all.Labels)
		path, err := gzfile.Find(dir, name)
		if err != nil {
			return nil, nil, err
		}
		if err := read(path); err != nil {
			return nil, nil, err
		}
	}
	return pooled(&all, classes, train, cfg.Augment)
}

// pooled returns a set whose first train images are for training.
func pooled(all *Set, classes, train int, augment string) (*data.Federation, []data.Examples, error) {
	v, side := data.ColourView(Side, all.Pixels, all.Labels, augment)
	fed := &data.Federation{H: side, W: side, C: Colours, Classes: classes}
	return fed, []data.Examples{{Train: v.Part(0, train), Test: v.Part(train, v.Len()), Pooled: true}}, nil
}

// folder returns the folder of a path, or the one of a name within it.
func folder(path, inner string) (string, error) {
	if dir := filepath.Join(path, inner); regular.IsFolder(dir) {
		return dir, nil
	}
	if !regular.IsFolder(path) {
		return "", fmt.Errorf("data.path = %q: no such folder", path)
	}
	return path, nil
}
