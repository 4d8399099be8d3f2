package host

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// How much of what a tuner prints reaches the log: a burst, and then printRate
// bytes per second. The rest is read and dropped, so that a tuner that prints without end
// neither fills the disk nor stands still.
const (
	printBurst  = 256 << 10
	printRate   = 32 << 10
	printReport = 10 * time.Second // between two lines that tell how much was dropped
)

// allowance is what a tuner may still print.
type allowance struct {
	log     *slog.Logger
	mu      sync.Mutex
	left    float64
	since   time.Time
	dropped int64
	told    time.Time
}

// take says whether n more bytes may be logged.
func (a *allowance) take(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.left = min(printBurst, a.left+now.Sub(a.since).Seconds()*printRate)
	a.since = now
	if a.left >= float64(n) {
		a.left -= float64(n)
		return true
	}
	a.dropped += int64(n)
	if now.Sub(a.told) >= printReport {
		a.told = now
		a.log.Warn("tuner output exceeds the log limit; the rest is dropped", "limit_bytes_per_second", printRate, "dropped_bytes", a.dropped)
	}
	return false
}

// lines hands what a tuner prints after its start to slog, line by line, as far as
// it is allowed. Each stream of output has lines of its own.
type lines struct {
	log  *slog.Logger
	may  *allowance
	mu   sync.Mutex
	rest []byte
}

// lineSize bounds a line of the log.
const lineSize = 8 << 10

// Write takes a piece of output.
func (l *lines) Write(p []byte) (int, error) {
	if !l.may.take(len(p)) {
		return len(p), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, after, found := bytes.Cut(l.rest, []byte("\n"))
		if !found && len(l.rest) < lineSize {
			return len(p), nil
		}
		l.put(line)
		l.rest = after
	}
}

func (l *lines) put(line []byte) { l.log.Info(strings.TrimRight(string(line), "\r")) }

// flush logs what has no newline after it, such as the last line of a panic: the
// output has ended.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.put(l.rest)
		l.rest = nil
	}
}

// untilClosed is output that ends where it is closed on this side, which is no
// error.
type untilClosed struct{ io.ReadCloser }

// Read returns the next piece.
func (u untilClosed) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// gate is a tuner's stderr on its way to go-plugin, which logs it: the end of it is
// always kept, the rest as far as it is allowed.
type gate struct {
	io.ReadCloser
	last *tail
	may  *allowance
}

// Read returns the next piece that is allowed.
func (g *gate) Read(p []byte) (int, error) {
	for {
		n, err := g.ReadCloser.Read(p)
		_, _ = g.last.Write(p[:n]) // it never fails
		if err != nil || g.may.take(n) {
			return n, err
		}
	}
}

// greeting is a tuner's stdout on its way to go-plugin: only the line of the
// handshake gets there. Whatever follows, without end or without a newline, is
// read, counted and logged.
type greeting struct {
	from   io.Closer
	lines  *bufio.Reader
	prints *lines
	ended  <-chan struct{} // closed when the process has ended
	line   []byte          // what is still to be handed on
	heard  bool            // the line was read
	secure bool            // it names a certificate
	mu     sync.Mutex
	noise  Noise
}

// Noise is what a tuner printed to stdout beside the handshake.
type Noise struct {
	Bytes int64
	First string // its beginning
}

// greetingSize is how long the line of the handshake may be; a certificate takes
// about 1 KiB.
const greetingSize = 16 << 10

func newGreeting(from io.ReadCloser, prints *lines, ended <-chan struct{}) *greeting {
	return &greeting{from: from, lines: bufio.NewReaderSize(from, greetingSize), prints: prints, ended: ended}
}

// Read hands the first line on and then blocks until the output ends. Where that has
// none, the process is given the time to end by itself: the plugin library kills it
// at once, and its own exit status tells more.
func (g *greeting) Read(p []byte) (int, error) {
	if !g.heard {
		line, err := g.lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			line = append(line[:100:100], "...\n"...)
		} else if len(line) == 0 && err != nil {
			select {
			case <-g.ended:
			case <-time.After(killPatience):
			}
			return 0, err
		}
		g.heard, g.line = true, bytes.Clone(line)
		fields := bytes.Split(bytes.TrimSpace(line), []byte("|"))
		g.secure = len(fields) > 5 && len(fields[5]) > 50 // as go-plugin decides whether there is a certificate
	}
	if len(g.line) > 0 {
		n := copy(p, g.line)
		g.line = g.line[n:]
		return n, nil
	}
	for {
		n, err := g.lines.Read(p)
		if n > 0 {
			g.count(p[:n])
			_, _ = g.prints.Write(p[:n]) // it never fails
		}
		if err != nil {
			g.prints.flush()
			return 0, err
		}
	}
}

// count counts what does not belong on stdout.
func (g *greeting) count(p []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.noise.Bytes += int64(len(p))
	if room := 100 - len(g.noise.First); room > 0 {
		g.noise.First += string(p[:min(room, len(p))])
	}
}

// Close ends the output on this side.
func (g *greeting) Close() error { return g.from.Close() }

// synced is what a Go tuner prints to os.Stdout, which the plugin library sends
// through the connection.
type synced struct {
	of     *process
	prints *lines
}

// Write counts and logs a piece.
func (s synced) Write(p []byte) (int, error) {
	s.of.runs.stdout.count(p)
	return s.prints.Write(p)
}

// read returns what was printed so far.
func (g *greeting) read() Noise {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.noise
}
