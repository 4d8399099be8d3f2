//go:build unix

package progress

import (
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
)

// lines is a writer for several goroutines.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(text)
}

// TestResizeDrawsAgain draws for the new width as soon as there is one, without a
// round.
func TestResizeDrawsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lines
		columns := 100
		l := &Line{w: &out, columns: func() int { return columns }, resized: make(chan os.Signal)}
		go l.follow(l.resized)
		l.Show(State{Done: 1, All: 2, Parts: []Part{{Text: strings.Repeat("word ", 20)}}})
		columns = 50
		l.resized <- syscall.SIGWINCH
		synctest.Wait()
		l.Close()
		drawn := strings.Split(strings.Trim(out.all.String(), "\r"), "\x1b[J\r\r")
		if len(drawn) < 2 || len([]rune(drawn[0])) < 50 || len([]rune(drawn[1])) >= 50 {
			t.Errorf("drawn are %q", drawn)
		}
	})
}
