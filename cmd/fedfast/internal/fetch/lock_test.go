//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package fetch

import (
	"strings"
	"testing"
)

// A folder that somebody fetches into is refused, and free again afterwards.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	set := Set{Name: "x", Files: []File{{Name: "x"}}}
	if _, err := Fetch(t.Context(), &set, Options{Dir: dir}); err == nil ||
		!strings.Contains(err.Error(), dir+": another process is fetching into this folder") {
		t.Errorf("error %v", err)
	}
	unlock()
	content := noise(10)
	s := serve(t, content, nil)
	if _, err := bring(t, dir, File{Name: "x", URLs: []string{s.URL}}); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, content)
}
