package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// signals returns a context that ends with the first interrupt, so that the
// round at work can end; the second one ends the program at once.
func (a *app) signals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	received := make(chan os.Signal, 2)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-received; !ok {
			return
		}
		cancel()
		fmt.Fprintln(a.err, "fedfast: stopping after this round; interrupt again to stop at once")
		if _, ok := <-received; ok {
			os.Exit(130)
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		close(received)
		cancel()
	}
}
