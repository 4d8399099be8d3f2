package data

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/fedfast/fedfast/data/formats/cifar"
	"github.com/fedfast/fedfast/data/formats/gzfile"
)

// cifar10Set is CIFAR-10, dealt to clients.
func cifar10Set() set {
	return set{SetInfo{
		Name: "cifar10",
		Doc:  "CIFAR-10: small colour pictures of 10 kinds of things; no clients of its own. FedEx's way: data.split = \"80/20/files\", data.clients = 500, data.samples = 100, data.augment = \"fedex-cifar\"",
		Kind: Image, Input: "32x32x3", Classes: cifar.Classes, Clients: "dealt by data.partition", Samples: "50,000 + 10,000 in full",
		Path:     "the folder of the binary version: data_batch_1.bin and so on, and test_batch.bin, plain or .gz (or the folder that holds cifar-10-batches-bin)",
		Augments: []string{augmentFedEx, augmentCrop}, Dealt: true,
	}, loadCIFAR10}
}

func loadCIFAR10(_ context.Context, cfg *Config) (*Federation, []writer, error) {
	dir, err := cfg.folder("cifar-10-batches-bin")
	if err != nil {
		return nil, nil, err
	}
	var all cifar.Set
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
	return cfg.dealCIFAR(&all, cifar.Classes, train)
}

// cifar100Set is CIFAR-100, dealt to clients.
func cifar100Set() set {
	return set{SetInfo{
		Name: "cifar100",
		Doc:  "CIFAR-100: small colour pictures of 100 kinds of things in 20 groups; no clients of its own. data.labels chooses the kinds (fine) or the groups (coarse)",
		Kind: Image, Input: "32x32x3", Classes: cifar.Fine, Clients: "dealt by data.partition", Samples: "50,000 + 10,000 in full",
		Path:     "the folder of the binary version: train.bin and test.bin, plain or .gz (or the folder that holds cifar-100-binary)",
		Augments: []string{augmentFedEx, augmentCrop}, Labels: []string{labelsFine, labelsCoarse}, Dealt: true,
	}, loadCIFAR100}
}

func loadCIFAR100(_ context.Context, cfg *Config) (*Federation, []writer, error) {
	dir, err := cfg.folder("cifar-100-binary")
	if err != nil {
		return nil, nil, err
	}
	var all cifar.Set
	read, classes := all.ReadFine, cifar.Fine
	if cfg.Labels == labelsCoarse {
		read, classes = all.ReadCoarse, cifar.Coarse
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
	return cfg.dealCIFAR(&all, classes, train)
}

// dealCIFAR deals a set whose first train images are for training.
func (c *Config) dealCIFAR(all *cifar.Set, classes, train int) (*Federation, []writer, error) {
	src, side := c.pictures(cifar.Side, all.Pixels, all.Labels)
	fed := &Federation{H: side, W: side, C: cifar.Colours, Classes: classes}
	writers, err := c.deal(fed, src, all.Labels, train)
	return fed, writers, err
}

// folder returns the folder of Path, or the one of a name within it.
func (c *Config) folder(inner string) (string, error) {
	if dir := filepath.Join(c.Path, inner); isDir(dir) {
		return dir, nil
	}
	if !isDir(c.Path) {
		return "", fmt.Errorf("data.path = %q: no such folder", c.Path)
	}
	return c.Path, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
