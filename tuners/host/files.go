package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFiles bounds the files next to a script that belong to it.
const maxFiles = 10_000

// sources are how the names of files end that a script beside them may load.
var sources = []string{".py", ".pth", ".so", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".pl", ".pm", ".lua", ".r", ".jl", ".jar", ".class", ".wasm"}

// programSum is the SHA-256 of a program: of its file alone, or, of a script (#!),
// of its file and the sources in its folder and below, which it may load. Hidden
// folders, virtual environments, studies and other tuners' programs are not looked
// at.
func programSum(path string) (string, error) {
	sum, err := checksum(path)
	if err != nil || !isScript(path) {
		return sum, err
	}
	dir, files, err := beside(path)
	if err != nil || len(files) == 0 {
		return sum, err
	}
	h := sha256.New()
	fmt.Fprintln(h, sum)
	for _, name := range files {
		one, err := checksum(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %s\n", one, filepath.ToSlash(name))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// isScript says whether a file begins with the sign of a script.
func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	begin := make([]byte, 2)
	_, err = f.Read(begin)
	return err == nil && bytes.Equal(begin, []byte("#!"))
}

// errTooMany says that a folder is no tuner's.
var errTooMany = errors.New("too many files")

// beside returns the folder of a script, behind links, and the source files there
// and below, sorted.
func beside(path string) (dir string, files []string, err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, err
	}
	dir = filepath.Dir(path)
	from := os.DirFS(dir)
	err = fs.WalkDir(from, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", dir, err)
		case e.IsDir():
			return Loadable(from, name)
		case !slices.Contains(sources, strings.ToLower(filepath.Ext(name))):
			return nil
		case len(files) == maxFiles:
			return errTooMany
		}
		files = append(files, filepath.FromSlash(name))
		return nil
	})
	if errors.Is(err, errTooMany) {
		return "", nil, fmt.Errorf("%s: more than %d source files next to this script, all of which count as part of it; move it to its own directory", path, maxFiles)
	}
	slices.Sort(files)
	return dir, files, err
}

// safe says why a program is not started: others than this user and root could
// change it, or a source that it may load.
func safe(path string) error {
	if err := trusted(path); err != nil || !isScript(path) {
		return err
	}
	dir, files, err := beside(path)
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := trusted(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Loadable returns fs.SkipDir for a folder in a tuner's from which the tuner loads nothing:
// hidden ones, virtual environments, studies.
func Loadable(tuner fs.FS, dir string) error {
	name := filepath.Base(dir)
	if dir != "." && (name[0] == '.' || slices.Contains([]string{"__pycache__", "node_modules", "studies"}, name)) {
		return fs.SkipDir
	}
	for _, sign := range []string{"pyvenv.cfg", "study.db"} {
		if _, err := fs.Stat(tuner, dir+"/"+sign); err == nil && dir != "." {
			return fs.SkipDir
		}
	}
	return nil
}
