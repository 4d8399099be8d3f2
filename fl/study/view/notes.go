package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/regular"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// NotesFile is the file in the directory of a study, or of its seeds, with the Notes on it.
const NotesFile = "notes.json"

// mostNotes bounds a NotesFile, in bytes: more than Notes of the longest note and the most tags need.
const mostNotes = 32 << 10

// Notes are what people write about a study. They are no part of its record: no result and no pack
// has them.
type Notes struct {
	Note string   `json:"note,omitempty"`
	Tags []string `json:"tags,omitempty"`
}

// ReadNotes returns the notes in a directory, none where there is no NotesFile. The error of one that
// cannot be read names it; lists and pages of studies then go without.
func ReadNotes(dir string) (n Notes, err error) {
	path := filepath.Join(dir, NotesFile)
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	} else if err != nil {
		return n, err
	}
	defer func() { _ = f.Close() }() // it was read only
	text, err := io.ReadAll(io.LimitReader(f, mostNotes+1))
	if err == nil && len(text) > mostNotes {
		err = fmt.Errorf("must have at most %s", memory.Size(mostNotes))
	} else if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err != nil {
		return Notes{}, fmt.Errorf("%s: %w; it can be deleted", path, err)
	}
	return n, nil
}

// Write keeps notes in a directory, and nothing there where they are empty.
func (n Notes) Write(dir string) error {
	path := filepath.Join(dir, NotesFile)
	if n.Text() != "" {
		return wholefile.WriteJSON(path, n)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Text is all of them in one line, with a # before each tag.
func (n Notes) Text() string {
	tags := list.Of(n.Tags, func(tag string) string { return "#" + tag })
	return oneline.Of(strings.Join(append(tags, n.Note), " "))
}

// After appends all of them to what a line tells of the study.
func (n Notes) After(line string) string {
	if text := n.Text(); text != "" {
		line += " · " + text
	}
	return line
}

// Add adds tags that are not there.
func (n *Notes) Add(tags ...string) {
	n.Tags = slices.Concat(n.Tags, tags)
	slices.Sort(n.Tags)
	n.Tags = slices.Compact(n.Tags)
}

// Tagged reports whether all of some tags are there.
func (n Notes) Tagged(tags []string) bool {
	return !slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(n.Tags, tag) })
}
