package cifar_test

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/realdata"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// TestRealCIFAR10 deals FedEx's way: the subset of 20,000 images is enough for
// 200 of the 500 clients.
func TestRealCIFAR10(t *testing.T) {
	fed := settest.Open(t, data.Config{
		Name: "cifar10", Path: realdata.Dir(t, "cifar10"), Split: "80/20/files",
		Clients: 500, Samples: 100, Augment: "fedex-cifar",
	})
	train, val, test := settest.Totals(fed.Clients)
	if len(fed.Clients) != 200 || train != 16_000 || val != 4_000 || test != 4_000 {
		t.Errorf("%d clients, %d, %d, %d images", len(fed.Clients), train, val, test)
	}
	if !strings.Contains(strings.Join(fed.Notes, "\n"), "enough for 200 clients") {
		t.Errorf("notes: %q", fed.Notes)
	}
	settest.Check(t, fed)
}
