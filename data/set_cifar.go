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
		Augments: []string{augmentFedEx}, Dealt: true,
	}, loadCIFAR10}
}

func loadCIFAR10(_ context.Context, cfg *Config) (*Federation, []writer, error) {
	dir := cfg.Path
	if inner := filepath.Join(dir, "cifar-10-batches-bin"); isDir(inner) {
		dir = inner
	}
	if !isDir(dir) {
		return nil, nil, fmt.Errorf("data.path = %q: no such folder", cfg.Path)
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
	src := newImages(cifar.Side, cifar.Side, cifar.Colours, all.Pixels, all.Labels)
	if cfg.Augment == augmentFedEx {
		src.fedexCIFAR()
	}
	fed := &Federation{H: cifar.Side, W: cifar.Side, C: cifar.Colours, Classes: cifar.Classes}
	writers, err := cfg.deal(fed, src, all.Labels, train)
	return fed, writers, err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
