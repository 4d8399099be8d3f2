// Package wheel writes Python wheels of the package fedfast that carry the
// program, without a Python toolchain. Equal files give equal bytes.
package wheel

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// Wheel says what a wheel is made of.
type Wheel struct {
	Project  string // directory of the Python project: pyproject.toml, README.md and the package
	License  string // file
	Program  string // file: the program, built for OS and Arch, linked statically
	OS, Arch string // as in GOOS and GOARCH
	Local    string // a suffix of the version of an unreleased commit, such as .dev0+g1a2b3c4; "" for a release
}

// platforms are the tags of the systems on which a program runs, by PEP 425, 600 and 656. Static
// programs for Linux need neither of the two C libraries. Go 1.26 needs macOS 12.
var platforms = map[string][]string{
	"linux/amd64":   {"manylinux2014_x86_64", "manylinux_2_17_x86_64", "musllinux_1_1_x86_64"},
	"linux/arm64":   {"manylinux2014_aarch64", "manylinux_2_17_aarch64", "musllinux_1_1_aarch64"},
	"darwin/amd64":  {"macosx_12_0_x86_64"},
	"darwin/arm64":  {"macosx_12_0_arm64"},
	"windows/amd64": {"win_amd64"},
}

// modified is the time of all files in a wheel: the first that zip files know.
var modified = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Write writes the wheel into a directory, which must exist, and returns its path. Its name follows
// from the project, the version and the system.
func (w Wheel) Write(dir string) (string, error) {
	tags := platforms[w.OS+"/"+w.Arch]
	if tags == nil {
		return "", fmt.Errorf("no wheel platform tag is known for %s/%s", w.OS, w.Arch)
	}
	p, err := readProject(filepath.Join(w.Project, "pyproject.toml"))
	if err != nil {
		return "", err
	}
	p.Version += w.Local
	readme, err := os.ReadFile(filepath.Join(w.Project, "README.md"))
	if err != nil {
		return "", err
	}
	stem := p.Name + "-" + p.Version
	file := filepath.Join(dir, fmt.Sprintf("%s-py3-none-%s.whl", stem, strings.Join(tags, ".")))
	return file, wholefile.Stream(file, 0o644, func(to io.Writer) error {
		a := &archive{zip: zip.NewWriter(to)}
		a.tree(os.DirFS(w.Project), p.Name)
		program := "fedfast"
		if w.OS == "windows" {
			program += ".exe"
		}
		a.file(stem+".data/scripts/"+program, 0o755, w.Program)
		info := stem + ".dist-info/"
		a.file(info+"licenses/LICENSE", 0o644, w.License)
		a.text(info+"METADATA", p.metadata(string(readme)))
		a.text(info+"WHEEL", about(tags))
		a.text(info+"RECORD", a.record.String()+info+"RECORD,,\n")
		if a.err != nil {
			return a.err
		}
		return a.zip.Close()
	})
}

// about is the text of the file WHEEL.
func about(tags []string) string {
	var b strings.Builder
	b.WriteString("Wheel-Version: 1.0\nGenerator: fedfast\nRoot-Is-Purelib: false\n")
	for _, tag := range tags {
		fmt.Fprintf(&b, "Tag: py3-none-%s\n", tag)
	}
	return b.String()
}

// archive is a zip file, the lines of its RECORD so far, and the first error.
type archive struct {
	zip    *zip.Writer
	record strings.Builder
	err    error
}

// add adds a file.
func (a *archive) add(name string, mode fs.FileMode, from io.Reader) {
	if a.err != nil {
		return
	}
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: modified}
	h.SetMode(mode)
	to, err := a.zip.CreateHeader(h)
	if err != nil {
		a.err = err
		return
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), from)
	a.err = err
	fmt.Fprintf(&a.record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum.Sum(nil)), n)
}

// text adds a file of text.
func (a *archive) text(name, text string) { a.add(name, 0o644, strings.NewReader(text)) }

// file adds a file of this machine.
func (a *archive) file(name string, mode fs.FileMode, from string) {
	f, err := os.Open(from)
	if err != nil {
		if a.err == nil {
			a.err = err
		}
		return
	}
	defer func() { _ = f.Close() }() // it was only read
	a.add(name, mode, f)
}

// tree adds the Python files of a package and its marker of types, in the order of their names.
func (a *archive) tree(project fs.FS, name string) {
	err := fs.WalkDir(project, name, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".py" && path.Base(file) != "py.typed" {
			return err
		}
		text, err := fs.ReadFile(project, file)
		a.text(file, string(text))
		return err
	})
	if a.err == nil {
		a.err = err
	}
}
