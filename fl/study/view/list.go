package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fedfast/fedfast/internal/store"
)

// Patience is how long one study of a list may take to be read.
const Patience = 5 * time.Second

// Below returns the directories of the studies below a directory, in lexical order, and how
// many folders there cannot be read. Links are not followed. The error is about the root.
func Below(ctx context.Context, root string) (dirs []string, unread int, err error) {
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && path == root:
			return err
		case errors.Is(err, fs.ErrNotExist): // it has just vanished
			return fs.SkipDir
		case err != nil:
			unread++
			return fs.SkipDir
		case e.IsDir() && store.Exists(path):
			dirs = append(dirs, path)
			return fs.SkipDir
		}
		return nil
	})
	return dirs, unread, err
}

// Brief is the overview of a study: an error if reading it takes longer than a time.
func Brief(ctx context.Context, dir string, within time.Duration) (*Overview, error) {
	short, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	v, err := store.Glance(short, dir)
	if err == nil {
		var o *Overview
		if o, err = (&Study{dir, v}).Overview(short); err == nil {
			return o, v.Close()
		}
		_ = v.Close() // it was read only
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%s: cannot be read within %v", dir, within)
	}
	return nil, err
}
