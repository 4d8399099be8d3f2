package cluster

import "sync"

// background is a function that runs until it is stopped.
type background struct {
	stop chan struct{}
	work sync.WaitGroup
}

// begin runs f, which returns when stop is closed.
func (b *background) begin(f func(stop <-chan struct{})) {
	b.stop = make(chan struct{})
	b.work.Go(func() { f(b.stop) })
}

// end stops the function and waits for it.
func (b *background) end() {
	close(b.stop)
	b.work.Wait()
}
