package workdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// SeedsFile tells of a directory that the studies below it differ in their seed
// only.
const SeedsFile = "seeds.json"

// MaxSeeds is how many seeds one directory may hold.
const MaxSeeds = 1000

// Seeds is what SeedsFile holds: all that is needed to begin those studies that
// have not begun.
type Seeds struct {
	// Command is "tune" or "run".
	Command string `json:"command"`
	// Seeds is how many there are, the first one that of Config and each next one
	// larger by one.
	Seeds int `json:"seeds"`
	// Config is the first study's configuration as TOML.
	Config string `json:"config"`
	// Scaled is what --scale changed of it.
	Scaled string `json:"scaled,omitempty"`
}

// HoldsSeeds reports whether a directory holds the studies of several seeds.
func HoldsSeeds(path string) bool { return path != "" && exists(filepath.Join(path, SeedsFile)) }

// SeedDir is where the study of a seed is below the directory of all.
func SeedDir(path string, seed uint64) string {
	return filepath.Join(path, "seed-"+strconv.FormatUint(seed, 10))
}

// ReadSeeds returns what a directory holds of several seeds. The error of one
// that holds none is fs.ErrNotExist.
func ReadSeeds(path string) (*Seeds, error) {
	name := filepath.Join(path, SeedsFile)
	text, err := wholefile.Read(name)
	if err != nil {
		return nil, err
	}
	s := &Seeds{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: damaged (%w); delete it and repeat the first command", name, err)
	}
	if s.Command == "" || s.Config == "" || s.Seeds < 1 || s.Seeds > MaxSeeds {
		return nil, fmt.Errorf("%s: does not list which of 1 to %d seeds were started; delete it and repeat the first command", name, MaxSeeds)
	}
	return s, nil
}

// Write keeps the record in a directory, which it makes if need be.
func (s *Seeds) Write(path string) error {
	err := wholefile.WriteJSON(filepath.Join(path, SeedsFile), s)
	if err = errors.Join(err, wholefile.Clear(path, SeedsFile)); err != nil {
		return fmt.Errorf("study directory: %w", err)
	}
	return nil
}

// DiscardSeeds removes the record of a directory below which no study has begun,
// and the directory where nothing else is in it.
func DiscardSeeds(path string) error {
	err := os.Remove(filepath.Join(path, SeedsFile))
	if left, e := os.ReadDir(path); e == nil && len(left) == 0 {
		err = errors.Join(err, remove(path))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
