package sets_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/data/sets/internal/settest"
)

// The sets of colour pictures open with crops of 24 x 24, of which those of the
// training images alone are at random.
func TestOpenCrops(t *testing.T) {
	dir := settest.Folder(t, map[string]string{"train.bin": settest.CIFAR100(200), "test.bin": settest.CIFAR100(100)})
	for _, cfg := range []data.Config{
		{Name: "cifar100", Path: dir, Clients: 5},
		{Name: "tff-cifar100", Path: filepath.Join("..", "formats", "hdf5", "testdata"), MinSamples: 1, Split: "50/50/0"},
	} {
		cfg.Augment = data.AugmentCrop
		fed := settest.Open(t, cfg)
		if fed.H != 24 || fed.W != 24 || fed.C != 3 {
			t.Errorf("%s: %d x %d x %d", cfg.Name, fed.H, fed.W, fed.C)
		}
		changes := func(v data.View) bool {
			plain, x := make([]float32, 24*24*3), make([]float32, 24*24*3)
			for p := range v.Len() {
				settest.Must(t, v.Fill([]int32{int32(p)}, plain, nil, make([]int32, 1), nil))
				for key := range uint64(4) {
					settest.Must(t, v.Fill([]int32{int32(p)}, x, nil, make([]int32, 1), &data.Augment{Key: key}))
					if !slices.Equal(x, plain) {
						return true
					}
				}
			}
			return false
		}
		if c := fed.Clients[0]; !changes(c.Train) || changes(c.Val) || changes(c.Test) {
			t.Errorf("%s: not the training images alone are changed at random", cfg.Name)
		}
		settest.Check(t, fed)
	}
}
