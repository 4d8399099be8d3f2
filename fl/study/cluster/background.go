package cluster

import (
	"sync"
	"time"
)

// background is a function that is called now and then until it is stopped.
type background struct {
	stop chan struct{}
	work sync.WaitGroup
}

// begin calls f at every tick.
func (b *background) begin(tick time.Duration, f func()) {
	b.stop = make(chan struct{})
	b.work.Go(func() {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-b.stop:
				return
			case <-ticker.C:
				f()
			}
		}
	})
}

// end ends the calls and waits for the last one.
func (b *background) end() {
	close(b.stop)
	b.work.Wait()
}
