package fetch

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bring fetches one file with short pauses and returns the notes.
func bring(t *testing.T, dir string, f File) (notes string, err error) {
	t.Helper()
	var lines []string
	_, err = Fetch(t.Context(), &Set{Name: "x", Files: []File{f}}, Options{
		Dir: dir, Stall: 300 * time.Millisecond, Pause: time.Millisecond, Tries: 3,
		Note: func(line string) { lines = append(lines, line) },
	})
	return strings.Join(lines, "\n"), err
}

// holds fails unless the folder holds file x with the content and nothing else.
func holds(t *testing.T, dir string, content []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "x"))
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes and error %v, must be the %d of the server", len(got), err, len(content))
	}
	if left := names(dir); left != "x" {
		t.Errorf("the folder holds %s", left)
	}
}

func TestDownload(t *testing.T) {
	content := noise(300_000)
	type fault = func(s *server, w http.ResponseWriter, r *http.Request) bool
	breaks := func(bytes int, times int) fault {
		return func(s *server, w http.ResponseWriter, r *http.Request) bool {
			if n, _ := s.requests(); n <= times {
				s.cut(w, r, bytes)
			}
			return false
		}
	}
	for _, tt := range []struct {
		name   string
		fault  fault
		ranges []string // of the requests, nil for not told
	}{
		{"whole", nil, []string{""}},
		{"breaks once", breaks(100_000, 1), []string{"", "bytes=100000-"}},
		{"breaks often", breaks(40_000, 6), nil},
		{"refuses at first", func(s *server, w http.ResponseWriter, _ *http.Request) bool {
			if s.first() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return s.first()
		}, []string{"", ""}},
		{"stalls", func(s *server, w http.ResponseWriter, r *http.Request) bool {
			if s.first() {
				w.Header().Set("Content-Length", strconv.Itoa(len(s.content)))
				_, _ = w.Write(s.content[:70_000])
				w.(http.Flusher).Flush()
				select {
				case <-s.gate:
				case <-r.Context().Done():
				}
			}
			return s.first()
		}, nil},
		{"knows no ranges", func(s *server, w http.ResponseWriter, r *http.Request) bool {
			if s.first() {
				s.cut(w, r, 100_000)
			}
			_, _ = w.Write(s.content)
			return true
		}, nil},
		{"gives another range", func(s *server, w http.ResponseWriter, r *http.Request) bool {
			switch n, _ := s.requests(); n {
			case 1:
				s.cut(w, r, 100_000)
			case 2:
				w.Header().Set("Content-Range", "bytes 7-299999/300000")
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(s.content[7:])
				return true
			}
			return false
		}, []string{"", "bytes=100000-", ""}},
		{"sends on", func(_ *server, w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/x" {
				http.Redirect(w, r, "/elsewhere", http.StatusFound)
			}
			return r.URL.Path == "/x"
		}, nil},
		{"damages a part", func(s *server, w http.ResponseWriter, r *http.Request) bool {
			if s.first() {
				whole := s.content
				s.content = bytes.Clone(whole)
				s.content[5]++
				defer func() { s.content = whole }()
				s.cut(w, r, 100_000)
			}
			return false
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir := serve(t, content, tt.fault), t.TempDir()
			if _, err := bring(t, dir, File{Name: "x", URLs: []string{s.URL + "/x"}, SHA256: sum(content)}); err != nil {
				t.Fatal(err)
			}
			holds(t, dir, content)
			if _, ranges := s.requests(); tt.ranges != nil && !slices.Equal(ranges, tt.ranges) {
				t.Errorf("asked for %q, must be %q", ranges, tt.ranges)
			}
		})
	}
}

func TestDownloadFails(t *testing.T) {
	content := noise(50_000)
	for _, tt := range []struct {
		name  string
		fault func(s *server, w http.ResponseWriter, r *http.Request) bool
		file  File
		want  string
		asked int // 0 for any number
		kept  bool
	}{
		{"not there", func(_ *server, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusNotFound)
			return true
		}, File{}, "404 Not Found", 1, false},
		{"always refuses", func(_ *server, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusBadGateway)
			return true
		}, File{}, "502 Bad Gateway", 3, false},
		{"wrong bytes", nil, File{SHA256: sum(nil)}, "SHA-256 is " + sum(content) + ", must be " + sum(nil), 1, false},
		{"wrong MD5", nil, File{MD5: "00"}, "MD5 is ", 1, false},
		{
			"says a wrong length", nil,
			File{Size: 49_999},
			"the server says that it has 50000 bytes, it must have 49999", 1, false,
		},
		{"sends more than the length", func(s *server, w http.ResponseWriter, _ *http.Request) bool {
			w.(http.Flusher).Flush() // no length
			_, _ = w.Write(s.content)
			return true
		}, File{Size: 40_000}, "more than 40000 bytes received", 1, true},
		{"sends less than it says", func(s *server, w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") == "" {
				s.cut(w, r, 20_000)
			}
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, File{}, "the connection ended", 0, true},
		{"a page instead of the file", func(_ *server, w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte("<html>please log in</html>"))
			return true
		}, File{Name: "x.gz"}, `the content starts with "<h", as no .gz file does`, 1, false},
		{"sends in a circle", func(_ *server, w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return true
		}, File{}, "sent on 10 times", 10, false},
		{"sends on to a file", func(_ *server, w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
			return true
		}, File{}, "sent on to file:///etc/passwd, which is not a web address", 1, false},
		{"breaks, and has other bytes", func(s *server, w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Range") == "" {
				s.cut(w, r, 20_000)
			}
			return false
		}, File{SHA256: sum(nil)}, "SHA-256 is " + sum(content), 4, false},
		{"never ends", func(_ *server, w http.ResponseWriter, _ *http.Request) bool {
			for {
				if _, err := w.Write(content); err != nil {
					return true
				}
			}
		}, File{Size: 7, Hint: true}, "more than 1048590 bytes received", 1, true},
		{"a monster", func(_ *server, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "99999999999999")
			return true
		}, File{}, "the server says that it has 99999999999999 bytes", 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, dir, f := serve(t, content, tt.fault), t.TempDir(), tt.file
			if f.Name == "" {
				f.Name = "x"
			}
			f.URLs = []string{s.URL + "/x"}
			_, err := bring(t, dir, f)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), s.URL) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v\nmust be one line, hold the address and %q", err, tt.want)
			}
			if n, _ := s.requests(); tt.asked > 0 && n != tt.asked {
				t.Errorf("%d requests, must be %d", n, tt.asked)
			}
			if _, err := os.Stat(filepath.Join(dir, f.Name)); err == nil {
				t.Error("the file is there")
			}
			if left := names(dir); (left != "nothing") != tt.kept {
				t.Errorf("the folder holds %s", left)
			}
		})
	}
}

func TestRedirectFromHTTPS(t *testing.T) {
	plain := serve(t, noise(10), nil)
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/x", http.StatusFound))
	t.Cleanup(secure.Close)
	set := Set{Name: "x", Files: []File{{Name: "x", URLs: []string{secure.URL + "/x"}}}}
	_, err := Fetch(t.Context(), &set, Options{Dir: t.TempDir(), Client: secure.Client(), Tries: 1})
	if n, _ := plain.requests(); err == nil || !strings.Contains(err.Error(), "sent on from https to http://") || n != 0 {
		t.Errorf("error %v, %d requests to the plain server", err, n)
	}
}

func TestPlaces(t *testing.T) {
	content := noise(1000)
	bad := serve(t, noise(999), nil)
	good := serve(t, content, nil)
	dir := t.TempDir()
	file := File{Name: "x", URLs: []string{bad.URL + "/x", good.URL + "/x"}, SHA256: sum(content)}
	notes, err := bring(t, dir, file)
	if err != nil || !strings.Contains(notes, bad.URL+"/x: SHA-256 is") ||
		!strings.Contains(notes, "trying the next place") {
		t.Errorf("error %v, notes %s", err, notes)
	}
	holds(t, dir, content)
	if notes, err := bring(t, dir, file); err != nil || notes != "x: already there" {
		t.Errorf("a second time: error %v, notes %s", err, notes)
	}
	mirror := serve(t, content, nil)
	other := t.TempDir()
	if _, err := Fetch(t.Context(), &Set{Files: []File{file}}, Options{Dir: other, Mirror: mirror.URL + "/"}); err != nil {
		t.Fatal(err)
	}
	if n, _ := bad.requests(); n != 1 {
		t.Errorf("asked the first place %d times although the mirror had the file", n)
	}
}

// A hint that does not hold is told, not refused.
func TestHints(t *testing.T) {
	content := noise(1000)
	s, dir := serve(t, content, nil), t.TempDir()
	notes, err := bring(t, dir, File{Name: "x", URLs: []string{s.URL}, Size: 7, MD5: "00", Hint: true})
	if err != nil || !strings.Contains(notes, "has 1000 bytes, must have 7, by a third party's word") {
		t.Errorf("error %v, notes %s", err, notes)
	}
	holds(t, dir, content)
	notes, err = bring(t, t.TempDir(), File{Name: "x", URLs: []string{s.URL}})
	if err != nil || !strings.Contains(notes, "no checksum is known; it has 1000 bytes and SHA-256 "+sum(content)) {
		t.Errorf("without a checksum: error %v, notes %s", err, notes)
	}
}

// A call that was stopped leaves a part from which the next one goes on, unless
// the file at the place has changed.
func TestGoOn(t *testing.T) {
	for _, changed := range []bool{false, true} {
		content := noise(200_000)
		ctx, cancel := context.WithCancel(t.Context())
		s := serve(t, content, func(s *server, w http.ResponseWriter, r *http.Request) bool {
			if s.first() {
				w.Header().Set("ETag", `"`+sum(s.content)[:16]+`"`)
				w.Header().Set("Content-Length", strconv.Itoa(len(s.content)))
				_, _ = w.Write(s.content[:100_000])
				w.(http.Flusher).Flush()
				select {
				case <-s.gate:
				case <-r.Context().Done():
				}
			}
			return s.first()
		})
		dir := t.TempDir()
		set := Set{Name: "x", Files: []File{{Name: "x", URLs: []string{s.URL}}}}
		_, err := Fetch(ctx, &set, Options{Dir: dir, Progress: func(_ string, n, of int64) {
			if n == 100_000 && of == 200_000 {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped: %v", err)
		}
		if changed {
			content = noise(200_001)
			s.mu.Lock()
			s.content = content
			s.mu.Unlock()
		}
		if _, err := bring(t, dir, set.Files[0]); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, content)
		if _, ranges := s.requests(); !slices.Equal(ranges, []string{"", "bytes=100000-"}) {
			t.Errorf("asked for %q", ranges)
		}
	}
}

// A part that is whole, from a call that was killed before it could rename it.
func TestWholePart(t *testing.T) {
	content := noise(5000)
	s, dir := serve(t, content, nil), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.part"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bring(t, dir, File{Name: "x", URLs: []string{s.URL}, SHA256: sum(content)}); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, content)
	if _, ranges := s.requests(); !slices.Equal(ranges, []string{"bytes=5000-"}) {
		t.Errorf("asked for %q", ranges)
	}
}

func TestFrom(t *testing.T) {
	content, from, dir := noise(5000), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "x"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	set := Set{Name: "x", Files: []File{{Name: "x", URLs: []string{"http://127.0.0.1:1/"}, SHA256: sum(content)}}}
	paths, err := Fetch(t.Context(), &set, Options{Dir: dir, From: from})
	if err != nil || !slices.Equal(paths, []string{filepath.Join(dir, "x")}) {
		t.Errorf("paths %v, error %v", paths, err)
	}
	holds(t, dir, content)
	for name, want := range map[string]string{"x": "SHA-256 is", "y": "no such file"} {
		dir := t.TempDir()
		set.Files[0].Name, set.Files[0].SHA256 = name, sum(nil)
		if _, err := Fetch(t.Context(), &set, Options{Dir: dir, From: from}); err == nil ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), from) {
			t.Errorf("%s: error %v", name, err)
		}
		if left := names(dir); left != "nothing" {
			t.Errorf("%s: the folder holds %s", name, left)
		}
	}
}
