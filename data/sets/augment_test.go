package sets_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
	"github.com/fedfast/fedfast/internal/test/tfftest"
)

// The sets of colour pictures open with each augmentation: training images change at
// random, those of validation only as FedEx's code has it, test images never.
func TestOpenAugments(t *testing.T) {
	dir := settest.Folder(t, map[string]string{"train.bin": settest.CIFAR100(200), "test.bin": settest.CIFAR100(100)})
	tff := t.TempDir()
	var rows []tfftest.Row
	for i := range 8 {
		pixels := make([]int64, 3072)
		for j := range pixels {
			pixels[j] = int64(j * (i + 3) % 256)
		}
		rows = append(rows, tfftest.Row{
			Split:  []string{"train", "test"}[i/6],
			Client: strconv.Itoa(i / 2 % 3), Message: tfftest.Example(
				tfftest.Feature{Name: "image", Ints: pixels}, tfftest.Feature{Name: "label", Ints: []int64{int64(i)}},
				tfftest.Feature{Name: "coarse_label", Ints: []int64{0}}),
		})
	}
	tfftest.Write(t, filepath.Join(tff, "cifar100.sqlite"), rows)
	for _, cfg := range []data.Config{
		{Name: "cifar100", Path: dir, Clients: 5},
		{Name: "tff-cifar100", Path: tff, MinSamples: 1, Split: "50/50/0"},
	} {
		for _, tt := range []struct {
			augment string
			side    int
			val     bool
		}{{data.AugmentCrop, 24, false}, {data.AugmentFedExTrain, 32, false}, {data.AugmentFedEx, 32, true}} {
			cfg.Augment = tt.augment
			fed := settest.Open(t, cfg)
			if fed.H != tt.side || fed.W != tt.side || fed.C != 3 {
				t.Errorf("%s: %d x %d x %d", cfg.Name, fed.H, fed.W, fed.C)
			}
			if noted := strings.Contains(strings.Join(fed.Notes, "\n"),
				"validation images are changed at random"); noted != tt.val {
				t.Errorf("%s: notes %q", tt.augment, fed.Notes)
			}
			changes := func(v data.View) bool {
				plain, x := make([]float32, tt.side*tt.side*3), make([]float32, tt.side*tt.side*3)
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
			if c := fed.Clients[0]; !changes(c.Train) || changes(c.Val) != tt.val || changes(c.Test) {
				t.Errorf("%s, %s: images of training, validation, test change at random: %v, %v, %v", cfg.Name, tt.augment,
					changes(c.Train), changes(c.Val), changes(c.Test))
			}
			settest.Check(t, fed)
		}
	}
}
