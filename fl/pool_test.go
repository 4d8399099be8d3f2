package fl

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/fedfast/fedfast/fl/internal/trainer"
	"github.com/fedfast/fedfast/nn"
)

// TestPoolClosesBeforeARun closes a pool whose only worker is at work while another
// run waits for it: the one ends, the other one does not begin.
func TestPoolClosesBeforeARun(t *testing.T) {
	m, err := nn.NewModel("small", nn.Shape{H: 1, W: 1, C: 3}, 2, nn.Dense{Units: 2})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPool(m, 1, func() trainer.Trainer { return m.NewWorkspace() })
		release, first, second := make(chan struct{}), make(chan error, 1), make(chan error, 1)
		go func() { first <- p.run(2, func(int, *worker) error { <-release; return nil }) }()
		synctest.Wait()
		go func() { second <- p.run(1, func(int, *worker) error { t.Error("it ran"); return nil }) }()
		synctest.Wait()
		go p.close()
		synctest.Wait()
		if err := <-second; !errors.Is(err, errClosed) {
			t.Errorf("the run that waited: %v", err)
		}
		close(release)
		if err := <-first; err != nil {
			t.Errorf("the run that had begun: %v", err)
		}
		p.close()
	})
}
