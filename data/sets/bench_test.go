package sets_test

import (
	"path/filepath"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/realdata"
	"github.com/fedfast/fedfast/internal/test/settest"
)

func BenchmarkOpen(b *testing.B) {
	for name, cfg := range map[string]data.Config{
		"femnist": {Name: "leaf-femnist", Path: realdata.Dir(b, "femnist")},
		"moby":    {Name: "leaf-shakespeare", Path: realdata.Dir(b, "shakespeare", "moby")},
		"leaf":    {Name: "leaf-shakespeare", Path: filepath.Join(realdata.Dir(b, "shakespeare"), "leaf_small")},
		"qmnist":  {Name: "qmnist", Path: realdata.Dir(b, "mnist")},
		"cifar10": {Name: "cifar10", Path: realdata.Dir(b, "cifar10")},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				settest.Open(b, cfg)
			}
		})
	}
}
