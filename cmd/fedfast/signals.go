package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/screen"
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
		// A terminal has written ^C where its cursor stood, which is the beginning of a line.
		start, erase := "", ""
		if screen.Is(a.err) {
			start, erase = "\r", "\r\x1b[J"
		}
		fmt.Fprint(a.logs, start+"fedfast: stopping after this round; interrupt again to stop at once\n")
		if _, ok := <-received; ok {
			fmt.Fprint(a.err, erase)
			os.Exit(130)
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		close(received)
		cancel()
	}
}
