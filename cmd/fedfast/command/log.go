package command

import (
	"io"
	"log/slog"
	"sync"
)

// logs is where log lines go: stderr, or the display while it shows a bar there.
type logs struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes whole lines.
func (l *logs) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(lines)
}

// redirect sends the lines that follow elsewhere.
func (l *logs) redirect(to io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = to
}

// newLog returns the log: plain lines without times.
func (a *app) newLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.logs, &slog.HandlerOptions{Level: a.log, ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
		if len(groups) == 0 && attr.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return attr
	}}))
}
