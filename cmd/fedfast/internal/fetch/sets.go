package fetch

import (
	_ "embed" // the sets
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/internal/list"
)

// Set is what can be fetched by a name: that of a set of package data.
type Set struct {
	Name string `json:"name"`
	// Data is the set of package data that reads the files.
	Data string `json:"data"`
	// Note tells what else is needed; "" for most sets.
	Note string `json:"note,omitempty"`
	// Raw says that Data cannot read the files before something else was made of
	// them, as Note tells.
	Raw   bool   `json:"-"`
	Files []File `json:"files"`
}

// File is one file of a set. Zero lengths and empty checksums are not known.
type File struct {
	// Name is the file's at its place and below Options.From.
	Name string   `json:"name"`
	URLs []string `json:"urls"`
	Size int64    `json:"size,omitempty"`
	// SHA256 and MD5 are in hexadecimal.
	SHA256 string `json:"sha256,omitempty"`
	MD5    string `json:"md5,omitempty"`
	// Hint says that length and checksums come from third parties: what differs
	// from them is told, not refused.
	Hint bool `json:"hint"`
	// Gives are the files and folders in it if it is an archive that is to be
	// unpacked.
	Gives []string `json:"gives,omitempty"`
	// Holds are the files that one of the folders in Gives must hold.
	Holds []string `json:"-"`
	// Renames give members of the archive another name.
	Renames map[string]string `json:"-"`
}

//go:embed sets.toml
var setsText string

// Sets returns all that can be fetched, in the order in which it is listed.
func Sets() []Set { return slices.Clone(known()) }

var known = sync.OnceValue(func() (sets []Set) {
	var t struct {
		Sets []struct {
			Set
			Files []string
		}
		Files map[string]File
	}
	if _, err := toml.Decode(setsText, &t); err != nil {
		panic("fetch: sets.toml: " + err.Error())
	}
	for _, s := range t.Sets {
		s.Set.Files = list.Of(s.Files, func(key string) File {
			f := t.Files[key]
			f.Name = path.Base(key)
			return f
		})
		sets = append(sets, s.Set)
	}
	return sets
})

// most is the number of bytes that the file can have at most.
func (f *File) most() int64 {
	switch {
	case f.Size == 0:
		return maxSize
	case f.Hint: // another edition of it
		return 2*f.Size + 1<<20
	}
	return f.Size
}

// packed reports whether the file is an archive to unpack.
func (f *File) packed() bool { return len(f.Gives) > 0 }

// gives returns the names that the file leaves in the folder.
func (f *File) gives() []string {
	if f.packed() {
		return f.Gives
	}
	return []string{f.Name}
}

// present reports whether all that the file gives is in a folder. What is there is
// whole: it got its name at the end.
func (f *File) present(dir string) bool {
	return !slices.ContainsFunc(f.gives(), func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err != nil
	})
}

// magics are the first bytes of the kinds of files, by the ends of their names.
var magics = []struct{ suffix, magic string }{
	{".gz", "\x1f\x8b"},
	{".bz2", "BZh"},
	{".zip", "PK"},
	{".lzma", "\x5d\x00\x00"},
	{".sqlite", "SQLite format 3\x00"},
}

// magic returns the first bytes of the file's kind.
func (f *File) magic() string {
	for _, m := range magics {
		if strings.HasSuffix(f.Name, m.suffix) {
			return m.magic
		}
	}
	return ""
}

// Find returns the set of a name.
func Find(name string) (*Set, error) {
	var all []string
	for _, s := range Sets() {
		if s.Name == name {
			return &s, nil
		}
		all = append(all, s.Name)
	}
	return nil, fmt.Errorf("unknown dataset %q; available: %s", name, strings.Join(all, ", "))
}
