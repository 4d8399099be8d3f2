package data

import (
	"strings"
	"testing"
)

// cifar100File returns n records: record i has the coarse label i%20 and the fine
// label i%100, and pixels of i%100.
func cifar100File(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteByte(byte(i % 20))
		b.WriteByte(byte(i % 100))
		b.WriteString(strings.Repeat(string(rune(i%100)), 3072))
	}
	return b.String()
}

func TestOpenCIFAR100(t *testing.T) {
	dir := folder(t, map[string]string{"cifar-100-binary/train.bin": cifar100File(400), "cifar-100-binary/test.bin": cifar100File(100)})
	for labels, classes := range map[string]int{"": 100, "fine": 100, "coarse": 20} {
		fed := mustOpen(t, Config{Name: "cifar100", Path: dir, Labels: labels, Clients: 10, Split: "80/20/files"})
		if fed.Classes != classes || len(fed.Clients) != 10 || fed.Clients[3].Train.Len() != 32 || fed.Clients[3].Test.Len() != 10 {
			t.Fatalf("labels %q: opened %+v", labels, *fed)
		}
		x, got := make([]float32, 3072), make([]int32, 1)
		for _, c := range fed.Clients {
			must(t, c.Test.Fill([]int32{4}, x, nil, got, nil))
			if fine := int32(x[0]*255 + 0.5); got[0] != fine%int32(classes) {
				t.Errorf("labels %q: an example of fine label %d has label %d", labels, fine, got[0])
			}
		}
	}
	skewed := mustOpen(t, Config{Name: "cifar100", Path: dir, Labels: "coarse", Clients: 5, Partition: "classes", ClientClasses: 4, Split: "80/20/files"})
	for _, c := range skewed.Clients {
		held := 0
		for _, n := range classCounts(t, c.Train.join(c.Val), 20) {
			if n > 0 {
				held++
			}
		}
		if held != 4 {
			t.Errorf("client %s holds %d of 20 groups, must hold 4", c.ID, held)
		}
	}
	if _, err := Open(t.Context(), Config{Name: "cifar100", Path: folder(t, map[string]string{"train.bin": cifar100File(20)})}); err == nil || !strings.Contains(err.Error(), "test.bin") {
		t.Errorf("without test.bin: %v", err)
	}
}
