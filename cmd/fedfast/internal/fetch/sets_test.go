package fetch_test

import (
	"encoding/hex"
	"net/url"
	"path"
	"slices"
	"testing"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/fetch"
	"github.com/fedfast/fedfast/data"
	_ "github.com/fedfast/fedfast/data/sets"
)

// Every entry can be used: the set that reads it is there, its places are
// addresses of the file, its checksums have their lengths.
func TestSets(t *testing.T) {
	var readers, names []string
	for _, s := range data.Sets() {
		readers = append(readers, s.Name)
	}
	for _, s := range fetch.Sets() {
		if slices.Contains(names, s.Name) {
			t.Errorf("%s is there twice", s.Name)
		}
		names = append(names, s.Name)
		if !slices.Contains(readers, s.Data) {
			t.Errorf("%s: no set %s reads it", s.Name, s.Data)
		}
		if found, err := fetch.Find(s.Name); err != nil || found.Name != s.Name {
			t.Errorf("%s is not found: %v", s.Name, err)
		}
		for _, f := range s.Files {
			if path.Base(f.Name) != f.Name || len(f.URLs) == 0 {
				t.Errorf("%s: file %q at %v", s.Name, f.Name, f.URLs)
			}
			for _, place := range f.URLs {
				u, err := url.Parse(place)
				if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || path.Base(u.Path) != f.Name {
					t.Errorf("%s: %s is no address of %s", s.Name, place, f.Name)
				}
			}
			for text, size := range map[string]int{f.SHA256: 32, f.MD5: 16} {
				if b, err := hex.DecodeString(text); err != nil || len(b) != size && text != "" {
					t.Errorf("%s: %s has checksum %q", s.Name, f.Name, text)
				}
			}
		}
	}
	if _, err := fetch.Find("no such"); err == nil {
		t.Error("no error for a set that is not there")
	}
}
