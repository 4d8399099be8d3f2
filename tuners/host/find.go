// Package host finds tuners, starts them as subprocesses, speaks fedfast.tuner.v1
// with them, checks what they answer, and starts them again when they crash or
// hang, so that a bad tuner can end a study but not spoil its data.
package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/internal/sys/regular"
)

// ErrNotFound is wrapped by the error of Find when nothing has the name.
var ErrNotFound = errors.New("not found")

// Prefix is how the file names of external tuners begin; the tuner's name follows,
// and .exe on Windows.
const Prefix = "fedfast-tuner-"

// nameForm is what a tuner may be called.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// Ref is a tuner that was found but not started.
type Ref struct {
	Name    string
	Path    string   // of the program
	Args    []string // after the program's name
	Builtin bool
	SHA256  string  // of the program and, of a script, of the sources next to it, in hexadecimal; "" when attached to
	Attach  *Attach // a process to attach to instead of starting the program; nil for none
}

// String says which tuner this is: random (built in), or coordinate
// (/opt/tuners/fedfast-tuner-coordinate).
func (r Ref) String() string {
	switch {
	case r.Builtin:
		return r.Name + " (built in)"
	case r.Attach != nil:
		return r.Name + " (attached to process " + strconv.Itoa(r.Attach.PID) + ")"
	}
	return r.Name + " (" + r.Path + ")"
}

// Paths says where tuners are looked for, in this order.
type Paths struct {
	Dirs    []string // directories for external tuners
	Builtin []string // names that Serve knows
	Attach  []Attach // tuners that run already, before all others
	User    string   // the one of Dirs that is for tuners of this user alone; "" when there is none
	Serve   []string // program and arguments that serve the built-in tuner whose name is appended
}

// DefaultPaths returns the directories given by the user, those of
// FEDFAST_TUNER_DIR (a list like PATH), the user's data directory and the one of
// the running program, which also serves the built-in tuners with `tuner serve
// NAME`.
func DefaultPaths(builtin []string, dirs ...string) (Paths, error) {
	self, err := os.Executable()
	if err != nil {
		return Paths{}, fmt.Errorf("find this program's own file: %w", err)
	}
	p := Paths{Dirs: slices.Clone(dirs), Builtin: slices.Sorted(slices.Values(builtin)), Serve: []string{self, "tuner", "serve"}}
	for _, d := range filepath.SplitList(os.Getenv("FEDFAST_TUNER_DIR")) {
		if d != "" {
			p.Dirs = append(p.Dirs, d)
		}
	}
	if data := dataDir(); data != "" {
		p.User = filepath.Join(data, "fedfast", "tuners")
		p.Dirs = append(p.Dirs, p.User)
	}
	p.Dirs = append(p.Dirs, filepath.Dir(self))
	return p, nil
}

// dataDir is where the system keeps a user's program data, "" when there is no such
// place.
func dataDir() string {
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return d
	}
	if runtime.GOOS == "windows" {
		return os.Getenv("LocalAppData")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support")
	}
	return filepath.Join(home, ".local", "share")
}

// Find looks a tuner up by name. An external one replaces a built-in of the same
// name. The error is one line that says where was looked.
func Find(name string, p Paths) (Ref, error) {
	if !nameForm.MatchString(name) {
		return Ref{}, fmt.Errorf("tuner %q: %w: must contain only lowercase letters, digits, - and _", name, ErrNotFound)
	}
	for _, a := range p.Attach {
		if a.Name == name {
			return Ref{Name: name, Path: a.String(), Attach: &a}, nil
		}
	}
	var skipped []string
	for _, dir := range p.Dirs {
		ref, err := external(dir, name)
		if err == nil {
			return ref, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			skipped = append(skipped, err.Error())
		}
		_, odd := namesIn(dir)
		for _, file := range odd {
			if strings.TrimSuffix(file, filepath.Ext(file)) == Prefix+name {
				skipped = append(skipped, fmt.Sprintf("%s must be named %s", filepath.Join(dir, file), fileName(name)))
			}
		}
	}
	if slices.Contains(p.Builtin, name) {
		sum, err := builtin.checksum(p.Serve[0])
		if err != nil {
			return Ref{}, fmt.Errorf("tuner %q: %w", name, err)
		}
		return Ref{Name: name, Path: p.Serve[0], Args: append(slices.Clone(p.Serve[1:]), name), Builtin: true, SHA256: sum}, nil
	}
	where := "nowhere"
	if len(p.Dirs) > 0 {
		where = strings.Join(p.Dirs, ", ")
	}
	if len(skipped) > 0 {
		where += " (skipped: " + strings.Join(skipped, "; ") + ")"
	}
	if len(p.Builtin) > 0 {
		where += "; built in: " + strings.Join(p.Builtin, ", ")
	}
	return Ref{}, fmt.Errorf("tuner %q: %w; looked for %s in %s", name, ErrNotFound, fileName(name), where)
}

// fileName is the file of an external tuner.
func fileName(name string) string {
	if runtime.GOOS == "windows" {
		return Prefix + name + ".exe"
	}
	return Prefix + name
}

// external looks in one directory for a tuner that nobody else can change.
func external(dir, name string) (Ref, error) {
	path, err := filepath.Abs(filepath.Join(dir, fileName(name)))
	if err != nil {
		return Ref{}, err
	}
	ref, err := program(name, path)
	if err == nil {
		err = safe(ref.Path)
	}
	return ref, err
}

// program checks a file that should be a tuner's program, or a folder of the
// program's name that holds it.
func program(name, path string) (Ref, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, filepath.Base(path))
		info, err = os.Stat(path)
	}
	if errors.Is(err, os.ErrNotExist) {
		if to, linkErr := os.Readlink(path); linkErr == nil {
			return Ref{}, fmt.Errorf("%s is a link to %s, which does not exist", path, to)
		}
	}
	switch {
	case err != nil:
		return Ref{}, err
	case !info.Mode().IsRegular():
		return Ref{}, fmt.Errorf("%s is not a file", path)
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return Ref{}, fmt.Errorf("%s is not executable", path)
	case openToAll(info):
		return Ref{}, fmt.Errorf("%s is world-writable, so anyone could change it; run chmod o-w on it", path)
	}
	sum, err := programSum(path)
	if err != nil {
		return Ref{}, err
	}
	return Ref{Name: name, Path: path, SHA256: sum}, nil
}

// openToAll says whether everyone may write. Windows' file modes do not tell.
func openToAll(info os.FileInfo) bool { return runtime.GOOS != "windows" && info.Mode()&0o002 != 0 }

// At returns the tuner whose program is at a path, which is named by itself, or is
// the only one in a directory, also written DIR/... . Unlike Find it takes folders
// that others may write to: the path was given by a person.
func At(path string) (Ref, error) {
	path, _ = strings.CutSuffix(filepath.ToSlash(path), "/...")
	path, err := filepath.Abs(filepath.FromSlash(path))
	if err != nil {
		return Ref{}, err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		names, _ := namesIn(path)
		if len(names) != 1 {
			return Ref{}, fmt.Errorf("%s contains %d programs named %sNAME, must be one; is it built?", path, len(names), Prefix)
		}
		path = filepath.Join(path, fileName(names[0]))
	}
	name, ok := nameOf(filepath.Base(path))
	if !ok {
		return Ref{}, fmt.Errorf("%s: a tuner program must be named %sNAME, where NAME contains only lowercase letters, digits, - and _", path, Prefix)
	}
	return program(name, path)
}

// nameOf reads a tuner's name from the name of its file.
func nameOf(file string) (string, bool) {
	name, ok := strings.CutPrefix(strings.TrimSuffix(file, ".exe"), Prefix)
	return name, ok && nameForm.MatchString(name) && file == fileName(name)
}

// checksum is the SHA-256 of a file.
func checksum(path string) (string, error) {
	f, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// builtin remembers the checksum of the program of the built-in tuners.
var builtin remembered

// remembered is the checksum of one large file, which is read again when the
// system says that it changed.
type remembered struct {
	mu   sync.Mutex
	path string
	info os.FileInfo
	sum  string
}

// checksum is the SHA-256 of a file.
func (r *remembered) checksum(path string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if path == r.path && os.SameFile(info, r.info) && info.Size() == r.info.Size() && info.ModTime().Equal(r.info.ModTime()) {
		return r.sum, nil
	}
	sum, err := checksum(path)
	if err == nil {
		r.path, r.info, r.sum = path, info, sum
	}
	return sum, err
}

// ErrPinned is wrapped by the error about a tuner that is not the one that a study
// recorded.
var ErrPinned = errors.New("tuner differs from the recorded one")

// Pin is what a study records about a tuner that it uses, so that it never
// continues with another program unnoticed.
type Pin struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"` // of the program
	Builtin bool   `json:"builtin"`
	SHA256  string `json:"sha256"` // of the program; "" when it was attached to
}

// Pin returns what a study records about the tuner.
func (p *Plugin) Pin() Pin {
	return Pin{Name: p.ref.Name, Version: p.about.Version, Path: p.ref.Path, Builtin: p.ref.Builtin, SHA256: p.ref.SHA256}
}

// Pinned returns a reference that only starts the program that a study recorded:
// the checksum is checked again at every start. The error wraps ErrPinned and says
// which study recorded what, what was found, and, with the text of allow, how to go
// on all the same, for example "--allow-tuner-change". A study that was attached to
// its tuner recorded no checksum and takes any program of the name.
func (r Ref) Pinned(study string, pin Pin, allow string) (Ref, error) {
	found := r.SHA256
	switch {
	case r.Name != pin.Name:
		return Ref{}, fmt.Errorf("tuner %q: %w: study %s recorded the tuner %q", r.Name, ErrPinned, study, pin.Name)
	case pin.SHA256 == "" || pin.SHA256 == found:
		return r, nil
	case found == "":
		found = "none (attached)"
	}
	return Ref{}, fmt.Errorf("tuner %q: %w: study %s recorded version %s at %s with SHA-256 %s, but %s has %s; use the recorded program, or accept this one with %s",
		r.Name, ErrPinned, study, known(pin.Version), known(pin.Path), short(pin.SHA256), r.Path, short(found), allow)
}

// known writes a text that may be missing.
func known(s string) string { return cmp.Or(s, "unknown") }

// short cuts a checksum to what a person compares.
func short(sum string) string {
	if len(sum) == 64 {
		return sum[:12] + "..."
	}
	return sum
}
