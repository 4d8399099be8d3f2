package tff

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/regular"
)

// setFile is the name of the file of a set of TFF, without .sqlite.
type setFile string

const (
	emnistFile        setFile = "emnist_all"
	shakespeareFile   setFile = "shakespeare"
	cifar100File      setFile = "cifar100"
	stackOverflowFile setFile = "stackoverflow"
)

// path tells what data.path of the set is.
func (s setFile) path() string {
	return fmt.Sprintf("TFF's %[1]s.sqlite, or %[1]s.sqlite.lzma, which is unpacked once into the user's cache folder (or the folder that holds it)", s)
}

// in returns the file at a path: the path itself or one in the folder.
func (s setFile) in(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		if strings.HasSuffix(path, ".h5") {
			return "", s.older(path)
		}
		return path, nil
	}
	for _, suffix := range []string{".sqlite", ".sqlite.lzma"} {
		if file := filepath.Join(path, string(s)+suffix); regular.IsFile(file) {
			return file, nil
		}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_train.h5") {
			return "", s.older(filepath.Join(path, e.Name()))
		}
	}
	return "", fmt.Errorf("%[1]s: no file %[2]s.sqlite or %[2]s.sqlite.lzma", path, s)
}

// older is the error for a file in the form that TFF's sets had before.
func (s setFile) older(path string) error {
	return fmt.Errorf("%s: TFF's older HDF5 files are not read; %s.sqlite.lzma has the same samples, see `fedfast data fetch --help`", path, s)
}

// read calls each with every example of a training and a test split, see Read.
func (s setFile) read(ctx context.Context, path string, splits []string, each func(split, client string, of int64, e *Example) error) error {
	file, err := s.in(path)
	if err != nil {
		return err
	}
	return Read(ctx, file, splits, each)
}
