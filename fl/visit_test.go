package fl

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/data"
	_ "github.com/fedfast/fedfast/internal/sets/cifar"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// TestVisitKeepsAugmentedImages compares batches of images that a client kept with
// the same ones read anew, over visits of one client and of another one.
func TestVisitKeepsAugmentedImages(t *testing.T) {
	const record = 1 + 32*32*3
	dir, stream := t.TempDir(), kernels.NewStream(1, 0)
	for _, file := range []string{"data_batch_1.bin", "test_batch.bin"} {
		raw := make([]byte, 40*record)
		for i := range raw {
			if raw[i] = byte(stream.IntN(256)); i%record == 0 {
				raw[i] %= 10
			}
		}
		if err := os.WriteFile(filepath.Join(dir, file), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fed, err := data.Open(t.Context(), data.Config{
		Name: "cifar10", Path: dir, Split: "80/20/files", Partition: "iid",
		Clients: 2, Augment: data.AugmentFedEx,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{inputs: fed.H * fed.W * fed.C, labels: 1}
	m, err := models.New("logistic", models.Options{Classes: 10, Input: nn.Shape{H: fed.H, W: fed.W, C: fed.C}})
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, c := range fed.Clients {
		most = max(most, 4*c.Train.Len()*w.inputs)
	}
	cfg := Config{Data: fed, Model: m}
	if got := cfg.mostKept(); got != most || kept(visitBytes/4+1, 1) != 0 || kept(visitBytes/4, 1) != visitBytes {
		t.Errorf("a worker keeps up to %d bytes of images, want %d", got, most)
	}
	for visit, client := range []int{0, 0, 1} {
		w.visit.begun = false // as begin has it
		l := &Local{Train: fed.Clients[client].Train, engine: &Engine{cfg: cfg}, worker: w, key: uint64(visit)}
		if l.Batches(0, ClientParams{Epochs: 1, Batch: 7}).visit != nil {
			t.Error("a single pass keeps images")
		}
		for _, p := range []ClientParams{{Epochs: 2.5, Batch: 7}, {Epochs: 3, Batch: 7, Wrap: true}} {
			b := l.Batches(0, p)
			if b.visit == nil {
				t.Fatal("several passes keep no images")
			}
			for range p.LocalSteps(l.Train.Len()) {
				batch, err := b.Next()
				if err != nil {
					t.Fatal(err)
				}
				x, labels := slices.Clone(batch.X), slices.Clone(batch.Labels)
				again, err := b.Read(l.Train, b.Positions())
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(x, again.X) || !slices.Equal(labels, again.Labels) {
					t.Fatalf("visit %d: images %v are not as they were read anew", visit, b.Positions())
				}
			}
		}
	}
}
