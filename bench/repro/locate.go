package repro

import (
	"fmt"
	"path/filepath"
	"strings"
)

// place says where a set of data may lie: in one of Folders below what was named,
// by one of Files, which is what the reader is given when Whole is set, else their
// folder is.
type place struct {
	folders, files []string
	whole          bool
	elsewhere      string // a folder in which the reader looks by itself
}

var places = map[string]place{
	"leaf-femnist":      {folders: []string{"", "femnist", "leaf-femnist"}, files: []string{"train"}},
	"leaf-shakespeare":  {folders: []string{"", "moby", "shakespeare/moby", "shakespeare", "leaf-shakespeare"}, files: []string{"raw_data.txt.gz", "raw_data.txt"}, whole: true},
	"cifar10":           {folders: []string{"", "cifar-10-batches-bin", "cifar10/cifar-10-batches-bin", "cifar10"}, files: []string{"data_batch_1.bin.gz", "data_batch_1.bin"}},
	"cifar100":          {folders: []string{"", "cifar-100-binary", "cifar100/cifar-100-binary", "cifar100"}, files: []string{"train.bin.gz", "train.bin"}},
	"fashion-mnist":     {folders: []string{"", "fashion-mnist"}, files: []string{"train-images-idx3-ubyte.gz", "train-images-idx3-ubyte"}, elsewhere: "/usr/share/datasets/fashion-mnist"},
	"qmnist":            {folders: []string{"", "mnist", "qmnist"}, files: []string{"qmnist-train-labels-idx2-int.gz", "qmnist-train-labels-idx2-int"}},
	"shakespeare-roles": {folders: []string{"", "leaf_small", "shakespeare/leaf_small"}, files: []string{"train"}},
	"heart":             {folders: []string{"", "heart"}, files: []string{"processed.cleveland.data"}},
	"stackexchange":     {folders: []string{"", "beer.stackexchange.com", "stackexchange/beer.stackexchange.com"}, files: []string{"Posts.xml.gz", "Posts.xml"}},
	"stackoverflow":     {folders: []string{"", "stackoverflow"}, files: []string{"stackoverflow.sqlite", "stackoverflow.sqlite.lzma"}},
}

// Locate returns where a set of data lies in a directory, or in a folder of it that
// has the set's name. Where the reader finds the data by itself it is the empty
// path. The error says what was looked for.
func Locate(set, dir string) (string, error) {
	p := places[set]
	if dir != "" {
		for _, folder := range p.folders {
			for _, file := range p.files {
				path := filepath.Join(dir, filepath.FromSlash(folder))
				if !exists(filepath.Join(path, file)) {
					continue
				}
				if p.whole {
					path = filepath.Join(path, file)
				}
				return path, nil
			}
		}
	}
	if p.elsewhere != "" && exists(filepath.Join(p.elsewhere, p.files[0])) {
		return "", nil
	}
	where := "neither --data nor FEDFAST_DATA is set"
	if dir != "" {
		where = "there is no " + strings.Join(p.files, " or ") + " in " + dir + " or in one of its folders " + strings.Join(p.folders[1:], ", ")
	}
	return "", fmt.Errorf("data %s: %s; download it with `fedfast data fetch`, if available", set, where)
}
