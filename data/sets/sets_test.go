package sets_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	_ "github.com/fedfast/fedfast/internal/test/glyphs"
)

func TestOpenErrors(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, tt := range []struct {
		name string
		cfg  data.Config
		want string // how the error starts
	}{
		{"no name", data.Config{}, "data.name is not set; use one of fashion-small, mnist, "},
		{"unknown name", data.Config{Name: "femnist"}, `data.name = "femnist": unknown dataset; use one of fashion-small, `},
		{
			"no path",
			data.Config{Name: "leaf-femnist"},
			"data.path is not set; leaf-femnist needs a folder of LEAF JSON files",
		},
		{
			"path to nothing",
			data.Config{Name: "leaf-femnist", Path: none},
			`data.path = "` + none + `": no such file or folder`,
		},
		{
			"path to no text",
			data.Config{Name: "leaf-shakespeare", Path: none},
			`data.path = "` + none + `": no such file or folder`,
		},
		{"path to no digits", data.Config{Name: "mnist", Path: none}, `data.path = "` + none + `": no such file or folder`},
		{"path to no writers", data.Config{Name: "qmnist", Path: none}, `data.path = "` + none + `": no such file or folder`},
		{
			"path to no pictures",
			data.Config{Name: "cifar10", Path: none},
			`data.path = "` + none + `": no such file or folder`,
		},
		{
			"path of the embedded set",
			data.Config{Name: "fashion-small", Path: none},
			"data.path = \"" + none + "\": fashion-small is in memory, not read",
		},
		{
			"path of a drawn set",
			data.Config{Name: "glyphs", Path: none},
			"data.path = \"" + none + "\": glyphs is drawn, not read",
		},
		{
			"split of two",
			data.Config{Name: "glyphs", Split: "80/20"},
			`data.split = "80/20": must be three integers such as "80/10/10"`,
		},
		{"split of words", data.Config{Name: "glyphs", Split: "most/some/few"}, `data.split = "most/some/few": must be`},
		{"split below 0", data.Config{Name: "glyphs", Split: "80/-10/10"}, `data.split = "80/-10/10": must be`},
		{"no training part", data.Config{Name: "glyphs", Split: "0/50/50"}, `data.split = "0/50/50": must be`},
		{
			"no files to split by",
			data.Config{Name: "glyphs", Split: "files", Clients: 3, Samples: 20},
			`open glyphs: data.split = "files": glyphs has no test samples of its own`,
		},
		{"cap below 0", data.Config{Name: "glyphs", MaxSamples: -1}, "data.max_samples = -1: must be 0 or more"},
		{
			"unknown partition",
			data.Config{Name: "mnist", Path: none, Partition: "even"},
			`data.partition = "even": must be one of iid, dirichlet, shards, classes`,
		},
		{
			"shards below 0",
			data.Config{Name: "mnist", Path: none, Partition: "shards", Shards: -1},
			"data.shards = -1: must be 0 or more",
		},
		{
			"shards for nothing",
			data.Config{Name: "mnist", Path: none, Shards: 2},
			`data.shards = 2: only data.partition = "shards" uses it`,
		},
		{
			"no classes",
			data.Config{Name: "mnist", Path: none, Partition: "classes"},
			`data.client_classes = 0, data.hi = []: data.partition = "classes" needs one of the two`,
		},
		{
			"classes twice",
			data.Config{Name: "mnist", Path: none, Partition: "classes", ClientClasses: 2, HI: []float64{0.5}},
			`data.client_classes = 2, data.hi = [0.5]: data.partition = "classes" needs one of the two`,
		},
		{
			"classes below 0",
			data.Config{Name: "mnist", Path: none, Partition: "classes", ClientClasses: -2},
			"data.client_classes = -2: must be 1 or more",
		},
		{
			"classes for nothing",
			data.Config{Name: "mnist", Path: none, HI: []float64{0.5}},
			`data.client_classes = 0, data.hi = [0.5]: only data.partition = "classes" and "classes-blocked" use them`,
		},
		{
			"index above 1",
			data.Config{Name: "mnist", Path: none, Partition: "classes", HI: []float64{0.5, 1.5}},
			"data.hi = [0.5 1.5]: the heterogeneity index must be in [0, 1]",
		},
		{
			"index is no number",
			data.Config{Name: "mnist", Path: none, Partition: "classes", HI: []float64{math.NaN()}},
			"data.hi = [NaN]: the heterogeneity index",
		},
		{
			"sizes of clients",
			data.Config{Name: "qmnist", Path: none, SizeSigma: 1},
			"data.sizes = [], data.size_sigma = 1, data.size_exponent = 0: qmnist has its own clients",
		},
		{
			"sizes twice",
			data.Config{Name: "mnist", Path: none, SizeSigma: 1, SizeExponent: 2},
			"data.sizes = [], data.size_sigma = 1, data.size_exponent = 2: use one of the three",
		},
		{
			"sizes and samples",
			data.Config{Name: "mnist", Path: none, Sizes: []int{100}, Samples: 3},
			"data.samples = 3, data.sizes = [100]: use one of the two",
		},
		{
			"sizes too small",
			data.Config{Name: "mnist", Path: none, Sizes: []int{100, 9}},
			"data.sizes = [100 9]: 9 is below data.min_samples = 10",
		},
		{
			"sigma too large",
			data.Config{Name: "mnist", Path: none, SizeSigma: 11},
			"data.size_sigma = 11: must be above 0 and at most 10",
		},
		{
			"exponent is no number",
			data.Config{Name: "mnist", Path: none, SizeExponent: math.NaN()},
			"data.size_exponent = NaN: must be above 0 and at most 10",
		},
		{
			"partition of clients",
			data.Config{Name: "glyphs", Partition: "iid"},
			`data.partition = "iid": glyphs has its own clients`,
		},
		{
			"no alpha",
			data.Config{Name: "mnist", Path: none, Partition: "dirichlet"},
			"data.alpha = 0: the Dirichlet partition needs a number in (0, 1e6]",
		},
		{
			"alpha is no number",
			data.Config{Name: "mnist", Path: none, Partition: "dirichlet", Alpha: math.NaN()},
			"data.alpha = NaN: the Dirichlet partition needs",
		},
		{
			"alpha for nothing",
			data.Config{Name: "mnist", Path: none, Alpha: 1},
			`data.alpha = 1: only data.partition = "dirichlet", "dirichlet-capped" and the set synthetic use it`,
		},
		{
			"beta for nothing",
			data.Config{Name: "mnist", Path: none, Beta: 1},
			"data.beta = 1: only the set synthetic uses it",
		},
		{
			"beta below 0",
			data.Config{Name: "synthetic", Alpha: 1, Beta: -1},
			"data.alpha = 1, data.beta = -1: synthetic needs numbers in [0, 1000]",
		},
		{
			"alpha of models is no number",
			data.Config{Name: "synthetic", Alpha: math.NaN()},
			"data.alpha = NaN, data.beta = 0: synthetic needs",
		},
		{
			"partition of drawn clients",
			data.Config{Name: "synthetic", Partition: "iid"},
			`data.partition = "iid": synthetic has its own clients`,
		},
		{
			"too many to draw",
			data.Config{Name: "synthetic", Clients: 1<<20 + 1},
			"open synthetic: data.clients = 1048577, data.samples = 0: at most 1048576 clients of 4194304 samples are drawn",
		},
		{
			"too many of a mean",
			data.Config{Name: "synthetic", Clients: 5000, Samples: 4_000_000},
			"open synthetic: data.clients = 5000, data.samples = 4000000: the largest client has ",
		},
		{
			"samples of clients",
			data.Config{Name: "qmnist", Path: none, Samples: 5},
			"data.samples = 5: qmnist has its own clients; use data.max_samples",
		},
		{
			"encoding of images",
			data.Config{Name: "glyphs", Encoding: "leaf"},
			`data.encoding = "leaf": glyphs does not support it; leave data.encoding out`,
		},
		{
			"unknown encoding",
			data.Config{Name: "leaf-shakespeare", Path: none, Encoding: "ascii"},
			`data.encoding = "ascii": must be one of leaf, fedex for leaf-shakespeare`,
		},
		{
			"labels of one kind",
			data.Config{Name: "cifar10", Path: none, Labels: "fine"},
			`data.labels = "fine": cifar10 does not support it`,
		},
		{
			"unknown labels",
			data.Config{Name: "cifar100", Path: none, Labels: "all"},
			`data.labels = "all": must be one of fine, coarse for cifar100`,
		},
		{"path to no kinds", data.Config{Name: "cifar100", Path: none}, `data.path = "` + none + `": no such file or folder`},
		{
			"augmented text",
			data.Config{Name: "leaf-shakespeare", Path: none, Augment: "fedex-cifar"},
			`data.augment = "fedex-cifar": leaf-shakespeare does not support it`,
		},
		{"normalized text", data.Config{
			Name: "leaf-shakespeare", Path: none, ImageMean: []float64{0.5},
			ImageStd: []float64{0.5},
		}, "data.image_mean = [0.5], data.image_std = [0.5]: leaf-shakespeare has no images; leave both out"},
		{
			"normalized twice",
			data.Config{
				Name: "cifar10", Path: none, Augment: "crop24", ImageMean: []float64{0.5},
				ImageStd: []float64{0.5},
			},
			`data.image_mean = [0.5], data.image_std = [0.5]: data.augment = "crop24" normalizes the images itself; leave both out`,
		},
		{
			"mean alone",
			data.Config{Name: "glyphs", ImageMean: []float64{0.5}},
			"data.image_mean = [0.5], data.image_std = []: set both or neither",
		},
		{
			"deviation alone",
			data.Config{Name: "glyphs", ImageStd: []float64{0.5}},
			"data.image_mean = [], data.image_std = [0.5]: set both or neither",
		},
		{
			"mean of bytes",
			data.Config{Name: "glyphs", ImageMean: []float64{125}, ImageStd: []float64{0.5}},
			"data.image_mean = [125]: must be from 0 to 1, where a byte k stands for k/255",
		},
		{
			"mean is no number",
			data.Config{Name: "glyphs", ImageMean: []float64{math.NaN()}, ImageStd: []float64{0.5}},
			"data.image_mean = [NaN]: must be from 0 to 1",
		},
		{
			"deviation of 0",
			data.Config{Name: "glyphs", ImageMean: []float64{0.5}, ImageStd: []float64{0}},
			"data.image_std = [0]: must be from 1e-06 to 1, where a byte k stands for k/255",
		},
		{
			"deviation is no number",
			data.Config{Name: "glyphs", ImageMean: []float64{0.5}, ImageStd: []float64{math.NaN()}},
			"data.image_std = [NaN]: must be from 1e-06 to 1",
		},
		{
			"means of other channels",
			data.Config{
				Name: "glyphs", Clients: 3, Samples: 20, ImageMean: []float64{0.1, 0.2, 0.3},
				ImageStd: []float64{0.5},
			},
			"open glyphs: data.image_mean = [0.1 0.2 0.3]: must be one number for all channels or one for each; the images are 28 x 28 x 1",
		},
		{
			"nobody left",
			data.Config{Name: "glyphs", Clients: 3, Samples: 20, MinSamples: 1000},
			"open glyphs: no client is left to train on: 3 have fewer samples than data.min_samples = 1000; lower it",
		},
		{
			"nobody to train on",
			data.Config{Name: "glyphs", Clients: 3, Samples: 20, MinSamples: 1, Split: "1/1000/0"},
			`open glyphs: no client is left to train on: 3 have too few samples for one to train on with data.split = "1/1000/0"; give the training samples a larger share`,
		},
		{
			"more clients than memory",
			data.Config{Name: "glyphs", Clients: 1<<31 - 1, Samples: 1<<31 - 1},
			"open glyphs: data.clients = 2147483647, data.samples = 2147483647: what is drawn needs ",
		},
		{
			"more samples than memory",
			data.Config{Name: "glyphs", Samples: 1<<31 - 1},
			"open glyphs: data.clients = 0, data.samples = 2147483647: what is drawn needs ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fed, err := data.Open(t.Context(), tt.cfg)
			if err == nil {
				t.Fatalf("opened %d clients", len(fed.Clients))
			}
			if !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q\nmust start %q", err, tt.want)
			}
		})
	}
	_, err := data.Open(t.Context(), data.Config{Name: "glyphs", Split: "x", MaxSamples: -1, Alpha: 1})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("three problems must make three lines: %v", err)
	}
}

func TestSets(t *testing.T) {
	var names []string
	for _, s := range data.Sets() {
		names = append(names, s.Name)
		if s.Doc == "" || s.Input == "" || s.Classes == 0 && !s.OwnTest || s.Clients == "" || s.Samples == "" ||
			s.Path == "" && !s.Synthetic && s.Name != "fashion-small" {
			t.Errorf("facts are missing: %+v", s)
		}
	}
	if want := []string{
		"fashion-small", "mnist", "qmnist", "fashion-mnist",
		"leaf-femnist", "leaf-shakespeare", "leaf-sent140", "leaf-celeba",
		"cifar10", "cifar100", "synthetic", "tff-femnist", "tff-femnist-digits", "tff-shakespeare", "tff-cifar100",
		"stackoverflow", "stackoverflow-tags", "stackexchange", "stackexchange-tags",
		"npz-images", "npz-vectors", "npz-tokens", "parquet", "image-folder", "parquet-text", "csv", "parquet-columns",
		"glyphs",
	}; !slices.Equal(names, want) {
		t.Errorf("sets %q", names)
	}
}
