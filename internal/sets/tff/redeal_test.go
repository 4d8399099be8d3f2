package tff_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
	"github.com/fedfast/fedfast/internal/test/tfftest"
)

// plays writes TFF's Shakespeare with five roles.
func plays(t *testing.T) string {
	var rows []tfftest.Row
	for c := range 5 {
		for i, text := range []string{fmt.Sprintf("To be %d", c), "", strings.Repeat("né ", 30)}[:1+c%3] {
			rows = append(rows, tfftest.Row{
				Split:  []string{"train", "train", "test"}[i],
				Client: fmt.Sprintf("THE_PLAY_ROLE_%d", c), Message: tfftest.Example(
					tfftest.Feature{Name: "snippets", Text: []byte(text)}),
			})
		}
	}
	return writeTFF(t, "shakespeare", rows)
}

// pictures writes TFF's CIFAR-100 with two samples of each of three training clients and
// of a test client, which has the name of one of those.
func pictures(t *testing.T) string {
	var rows []tfftest.Row
	for at, split := range []string{"train", "train", "train", "test"} {
		c := at % 3
		for i, label := range []int64{int64(c), int64(99 - c)} {
			pixels := make([]int64, 3072)
			for j := range pixels {
				pixels[j] = int64((i*3072 + j) * (c + 3) % 256)
			}
			rows = append(rows, tfftest.Row{Split: split, Client: strconv.Itoa(c), Message: tfftest.Example(
				tfftest.Feature{Name: "image", Ints: pixels}, tfftest.Feature{Name: "label", Ints: []int64{label}},
				tfftest.Feature{Name: "coarse_label", Ints: []int64{int64(c)}})})
		}
	}
	return writeTFF(t, "cifar100", rows)
}

// The samples of a set with clients can be dealt anew, or kept with their caps.
func TestRedeal(t *testing.T) {
	cfg := data.Config{Name: "tff-cifar100", Path: pictures(t), MinSamples: 1, Split: "50/50/0"}
	natural := settest.Open(t, cfg)
	cfg.Partition = "natural"
	named := settest.Open(t, cfg)
	if len(named.Clients) != 3 || fmt.Sprint(natural.Notes) != fmt.Sprint(named.Notes) {
		t.Errorf("natural: %d clients, notes %q", len(named.Clients), named.Notes)
	}
	// All eight samples: those of the clients and of the test client.
	cfg.Partition, cfg.Clients = "iid", 2
	fed := settest.Open(t, cfg)
	sizes, _ := settest.Held(t, fed)
	if !slices.Equal(sizes, []int{4, 4}) || fed.Files != natural.Files ||
		!strings.Contains(strings.Join(fed.Notes, "\n"), "the samples of 4 clients were put together and dealt anew") {
		t.Errorf("sizes %v, files %+v, notes %q", sizes, fed.Files, fed.Notes)
	}
	count := map[string]int{}
	for _, f := range []*data.Federation{fed, settest.Open(t, data.Config{
		Name: "tff-cifar100", Path: cfg.Path,
		MinSamples: 1, Split: "50/50/0", Unseen: true,
	})} {
		for _, c := range append(f.Clients, f.Unseen...) {
			for _, v := range []data.View{c.Train, c.Val, c.Test} {
				for i := range v.Len() {
					x, label := make([]float32, 3072), make([]int32, 1)
					settest.Must(t, v.Fill([]int32{int32(i)}, x, nil, label, nil))
					count[fmt.Sprint(x, label)]++
				}
			}
		}
	}
	for image, n := range count {
		if n%2 != 0 {
			t.Errorf("%.60s comes %d times in both", image, n)
		}
	}
	// By class, too, and texts with a label at every character by chance alone.
	cfg.Partition, cfg.ClientClasses, cfg.Clients = "classes", 1, 2
	if _, held := settest.Held(t, settest.Open(t, cfg)); slices.Max(held) != 1 {
		t.Errorf("clients hold %v classes", held)
	}
	texts := data.Config{
		Name: "tff-shakespeare", Path: plays(t), MinSamples: 1, Split: "100/0/0",
		Partition: "iid", Clients: 2,
	}
	fed = settest.Open(t, texts)
	labels := make([]int32, 80)
	settest.Must(t, fed.Clients[1].Train.Fill([]int32{0}, nil, make([]int32, 80), labels, nil))
	if !fed.EveryStep || len(fed.Clients) != 2 || labels[0] < 1 || int(labels[0]) >= 90 {
		t.Errorf("%d clients, labels %v", len(fed.Clients), labels)
	}
	texts.Partition = "shards"
	if _, err := data.Open(t.Context(), texts); err == nil || !strings.Contains(err.Error(), "class labels to deal by") {
		t.Errorf("texts by class: %v", err)
	}
}
