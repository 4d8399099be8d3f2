package data

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data/formats/cifar"
	"github.com/fedfast/fedfast/data/formats/fedjax"
)

// fedjaxFEMNISTSet is FedJAX's EMNIST by writers.
func fedjaxFEMNISTSet() set {
	const stem = "federated_emnist"
	return set{SetInfo{
		Name: "fedjax-femnist",
		Doc:  "FedJAX's EMNIST: the samples of tff-femnist in FedJAX's files. Paper 1, ink 0, as in the files (FedJAX's preprocessing turns them over)",
		Kind: Image, Input: "28x28x1", Classes: femnistClasses,
		Clients: "3,400 writers", Samples: "671,585 + 77,483",
		Path: fedjaxPath(stem),
	}, func(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
		return loadFedJAXImages(ctx, cfg, stem, femnistClasses)
	}}
}

// fedjaxDigitsSet is the digits of FedJAX's EMNIST by writers.
func fedjaxDigitsSet() set {
	const stem = "federated_emnist_digitsonly"
	return set{SetInfo{
		Name: "fedjax-femnist-digits",
		Doc:  "FedJAX's EMNIST, the digits only: the samples of tff-femnist-digits in FedJAX's files. Paper 1, ink 0, as in the files",
		Kind: Image, Input: "28x28x1", Classes: digitClasses,
		Clients: "3,383 writers", Samples: "341,873 + 40,832",
		Path: fedjaxPath(stem),
	}, func(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
		return loadFedJAXImages(ctx, cfg, stem, digitClasses)
	}}
}

// fedjaxPath tells what data.path of a set of FedJAX is.
func fedjaxPath(stem string) string {
	return "the folder that holds FedJAX's " + stem + "_train.sqlite and " + stem + "_test.sqlite"
}

// readFedJAX reads the two files of a set: part is 0 for train and 1 for test.
func readFedJAX(ctx context.Context, dir, stem string, each func(part int, client string, arrays fedjax.Arrays) error) error {
	if !isDir(dir) {
		return fmt.Errorf("data.path = %q: must be %s", dir, fedjaxPath(stem))
	}
	for part, name := range []string{"_train", "_test"} {
		err := fedjax.Read(ctx, filepath.Join(dir, stem+name+".sqlite"), func(client string, _ int, arrays fedjax.Arrays) error {
			return each(part, client, arrays)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func loadFedJAXImages(ctx context.Context, cfg *Config, stem string, classes int) (*Federation, []writer, error) {
	people := map[string]*[2]pixelRows{}
	err := readFedJAX(ctx, cfg.Path, stem, func(part int, client string, arrays fedjax.Arrays) error {
		const size = femnistSide * femnistSide
		labels, err := arrays.Labels("label", classes)
		if err != nil {
			return err
		}
		pixels, err := arrays.Floats("pixels", size)
		if err != nil {
			return err
		}
		rows := byClient(people, client)
		for i, label := range labels {
			if err := rows[part].add(pixels[i*size:(i+1)*size], label); err != nil {
				return fmt.Errorf("example %d: %w", i+1, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return greyFederation(people, classes)
}

// fedjaxCIFAR100Set is FedJAX's CIFAR-100.
func fedjaxCIFAR100Set() set {
	return set{SetInfo{
		Name: "fedjax-cifar100",
		Doc:  "FedJAX's CIFAR-100: the samples of tff-cifar100 in the files that FedJAX makes of TFF's. The test samples are with 100 clients of their own, named test/0 and so on (data.unseen = true evaluates them)",
		Kind: Image, Input: "32x32x3", Classes: cifar100Classes,
		Clients: "500 clients + 100 with test samples only", Samples: "50,000 + 10,000",
		Path: fedjaxPath("federated_cifar100"), Augments: []string{augmentFedEx, augmentCrop},
	}, loadFedJAXCIFAR100}
}

func loadFedJAXCIFAR100(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
	people := map[string]*byteImages{}
	err := readFedJAX(ctx, cfg.Path, "federated_cifar100", func(part int, client string, arrays fedjax.Arrays) error {
		labels, err := arrays.Labels("label", cifar100Classes)
		if err != nil {
			return err
		}
		if _, err := arrays.Labels("coarse_label", cifar100Groups); err != nil {
			return err
		}
		pixels, err := arrays.Bytes("image", cifar.Pixels)
		if err != nil {
			return err
		}
		if part == 1 {
			client = testOnly + client
		} else if strings.HasPrefix(client, testOnly) {
			return fmt.Errorf("is a training client whose name begins with %s, as those of test clients do", testOnly)
		}
		people[client] = &byteImages{pixels, labels}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	fed, writers := pictureFederation(cfg, people)
	return fed, writers, nil
}

// fedjaxShakespeareSet is FedJAX's Shakespeare.
func fedjaxShakespeareSet() set {
	return set{SetInfo{
		Name: "fedjax-shakespeare",
		Doc:  "FedJAX's Shakespeare: the snippets of tff-shakespeare, those of a role joined before they are cut into runs of 80 characters; each character's label is the next one (90 ids: padding, begin, end, 86 characters, others)",
		Kind: Tokens, Input: "80 characters, a label at each", Classes: fedjaxVocab,
		Clients: "715 roles", Samples: "16,068 + 2,356 snippets, joined and cut",
		Path: fedjaxPath("shakespeare"),
	}, loadFedJAXShakespeare}
}

// The ids of FedJAX's Shakespeare; those between are of tffLetters. (FedJAX,
// datasets/shakespeare.py)
const (
	fedjaxBegin = 1
	fedjaxEnd   = 2
	fedjaxFirst = 3
	fedjaxOther = fedjaxFirst + len(tffLetters)
	fedjaxVocab = fedjaxOther + 1
)

func loadFedJAXShakespeare(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
	people := map[string]*[2][]byte{}
	err := readFedJAX(ctx, cfg.Path, "shakespeare", func(part int, client string, arrays fedjax.Arrays) error {
		snippets, err := arrays.Texts("snippets")
		if err != nil {
			return err
		}
		byClient(people, client)[part] = joinedRows(snippets)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	fed, writers := stepFederation(people, fedjaxVocab)
	return fed, writers, nil
}

// joinedRows joins snippets, each with its begin and end, and cuts them into rows
// of windowLen+1 ids of which each begins with the last one of the row before;
// the last row is padded.
func joinedRows(snippets [][]byte) []byte {
	var all []byte
	for _, text := range snippets {
		all = append(all, fedjaxBegin)
		for _, c := range text {
			id := byte(fedjaxOther)
			if i := bytes.IndexByte([]byte(tffLetters), c); i >= 0 {
				id = byte(fedjaxFirst + i)
			}
			all = append(all, id)
		}
		all = append(all, fedjaxEnd)
	}
	var rows []byte
	for ; len(all) > 1; all = all[min(windowLen, len(all)):] {
		n := min(windowLen+1, len(all))
		rows = append(rows, all[:n]...)
		rows = append(rows, make([]byte, windowLen+1-n)...)
	}
	return slices.Clip(rows)
}
