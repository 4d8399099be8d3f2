package command

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
)

// signals returns a context that ends with the first interrupt, so that the
// round at work can end; the second one ends the program at once, whatever it does:
// nothing that can block stands between the two.
func (a *app) signals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	received := make(chan os.Signal, 2)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-received; !ok {
			return
		}
		// A terminal has written ^C where its cursor stood, which is the beginning
		// of a line.
		start, erase := "", ""
		if screen.Is(a.err) {
			start, erase = "\r", "\r\x1b[J"
		}
		// It is told before the work ends, so that it does not come after the last
		// error.
		text := "fedfast: stopping after this round; interrupt again to stop immediately\n"
		if a.serves.Load() {
			text = "fedfast: stopped\n"
		}
		told := write(a.logs, start+text)
		select {
		case <-told:
		case _, ok := <-received:
			if ok {
				os.Exit(130)
			}
			return
		}
		cancel()
		if _, ok := <-received; ok {
			<-write(a.err, erase)
			os.Exit(130)
		}
	}()
	return ctx, func() {
		// After the first interrupt the program is on its way out: a second one must not
		// meet the default action, which would hide what the program exits with.
		if ctx.Err() == nil {
			signal.Stop(received)
			close(received)
		}
		cancel()
	}
}

// patience is how long a line may take that nobody may read: a pipe can be full, a
// terminal stopped.
const patience = time.Second

// write writes text in its own time, and returns what closes when it is written or
// when it has taken long enough.
func write(w io.Writer, text string) <-chan struct{} {
	ctx, done := context.WithTimeout(context.Background(), patience)
	go func() {
		defer done()
		_, _ = io.WriteString(w, text) // there is nowhere to tell of an error
	}()
	return ctx.Done()
}
