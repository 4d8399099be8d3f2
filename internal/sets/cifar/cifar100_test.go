package cifar_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

func TestOpenCIFAR100(t *testing.T) {
	dir := settest.Folder(t, map[string]string{
		"cifar-100-binary/train.bin": settest.CIFAR100(400),
		"cifar-100-binary/test.bin":  settest.CIFAR100(100),
	})
	for labels, classes := range map[string]int{"": 100, "fine": 100, "coarse": 20} {
		fed := settest.Open(t, data.Config{Name: "cifar100", Path: dir, Labels: labels, Clients: 10, Split: "80/20/files"})
		if fed.Classes != classes || len(fed.Clients) != 10 || fed.Clients[3].Train.Len() != 32 ||
			fed.Clients[3].Test.Len() != 10 {
			t.Fatalf("labels %q: opened %+v", labels, *fed)
		}
		x, got := make([]float32, 3072), make([]int32, 1)
		for _, c := range fed.Clients {
			settest.Must(t, c.Test.Fill([]int32{4}, x, nil, got, nil))
			if fine := int32(x[0]*255 + 0.5); got[0] != fine%int32(classes) {
				t.Errorf("labels %q: an example of fine label %d has label %d", labels, fine, got[0])
			}
		}
	}
	skewed := settest.Open(t, data.Config{
		Name: "cifar100", Path: dir, Labels: "coarse", Clients: 5, Partition: "classes",
		ClientClasses: 4, Split: "80/20/files",
	})
	if _, held := settest.Held(t, skewed); !slices.Equal(held, []int{4, 4, 4, 4, 4}) {
		t.Errorf("clients hold %d of 20 groups, must hold 4", held)
	}
	if _, err := data.Open(t.Context(), data.Config{Name: "cifar100", Path: settest.Folder(t,
		map[string]string{"train.bin": settest.CIFAR100(20)})}); err == nil || !strings.Contains(err.Error(), "test.bin") {
		t.Errorf("without test.bin: %v", err)
	}
}
