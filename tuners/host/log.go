package host

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/tuners"
	"github.com/hashicorp/go-hclog"
)

// newLogger returns go-plugin's logger: everything goes to log.
func newLogger(log *slog.Logger, tuner string) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "host", Level: hclog.Trace, Output: io.Discard})
	l.RegisterSink(sink{log.With("tuner", tuner)})
	return l
}

// sink hands go-plugin's log lines to slog.
type sink struct{ log *slog.Logger }

// Accept takes one line. What the plugin library says of itself is for debugging;
// what the tuner wrote to stderr keeps its level, plain lines counting as
// information.
func (s sink) Accept(name string, level hclog.Level, msg string, args ...any) {
	to := slog.LevelDebug
	if name != "host" && !strings.HasPrefix(name, "host.stdio") {
		to = slog.LevelInfo
		if level >= hclog.Error {
			to = slog.LevelError
		} else if level >= hclog.Warn {
			to = slog.LevelWarn
		}
	}
	s.log.Log(context.Background(), to, msg, args...)
}

// maxWords is how many characters of what a tuner said an error quotes.
const maxWords = 300

// tailSize bounds what is kept of a tuner's output.
const tailSize = 8 << 10

// tail keeps the end of a tuner's stderr, for the error that says why it died.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps the newest tailSize bytes.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if extra := len(t.text) - tailSize; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(p), nil
}

// lastWords returns the line that tells most: that of a panic, else the last one
// that is no library's JSON.
func (t *tail) lastWords() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := ""
	for line := range strings.Lines(string(t.text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return tuners.Plain(line, maxWords)
		}
		if line != "" && !json.Valid([]byte(line)) {
			last = line
		}
	}
	return tuners.Plain(last, maxWords)
}
