package parquet

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ownsets "github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// folders tells what data.path of pictures in files of their own is.
const folders = "a folder with a folder of pictures for each class, such as DIR/cat/1.png; above these may be one for each " +
	"client (DIR/ann/cat/1.png), and above all train and test (DIR/test/cat/1.png)"

// walk finds the pictures in the folders of classes, their labels and their clients.
func (o *own) walk(ctx context.Context) error {
	type found struct{ path, class, client string }
	var parts [3][]found
	var left, pictures, dirs []string
	root, err := filepath.EvalSymlinks(o.cfg.Path)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch ending := strings.ToLower(filepath.Ext(path)); {
		case err != nil || ctx.Err() != nil:
			return cmp.Or(err, ctx.Err())
		case strings.HasPrefix(entry.Name(), ".") && path != root: // ._a.png is of a Mac
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir():
			dirs = append(dirs, entry.Name())
		case slices.Contains([]string{".png", ".jpg", ".jpeg"}, ending):
			pictures = append(pictures, path)
		default:
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				return fmt.Errorf("%s: is a link to a folder, which is not followed; move the folder there", path)
			}
			left = append(left, entry.Name())
		}
		return nil
	})
	if err != nil {
		return err
	}
	named, notes := ownsets.Folders(dirs[min(1, len(dirs)):]) // the first is data.path
	o.fed.Notes = notes
	for _, path := range pictures {
		rel, _ := filepath.Rel(root, filepath.Dir(path)) // it is below
		above := strings.Split(filepath.ToSlash(rel), "/")
		f, part := found{path: path, class: above[len(above)-1]}, ownsets.Train
		above = slices.DeleteFunc(above[:len(above)-1], func(name string) bool {
			p, is := named[name]
			part = max(part, p)
			return is
		})
		_, isPart := named[f.class]
		switch {
		case len(above) > 1 || len(above) == 0 && isPart || rel == ".":
			return fmt.Errorf("%s: lies in no folder of a class, or in too many; data.path must be %s", path, folders)
		case len(above) == 1:
			f.client = above[0]
		}
		parts[part] = append(parts[part], f)
	}
	if len(parts[ownsets.Test]) == 0 {
		parts[ownsets.Test], parts[ownsets.Valid] = parts[ownsets.Valid], nil
	}
	for _, f := range parts[ownsets.Valid] {
		left = append(left, filepath.Base(f.path))
	}
	if left != nil {
		o.fed.Notes = append(o.fed.Notes, "files that are left out: "+oneline.Names(left))
	}
	o.first = len(parts[ownsets.Train])
	if o.first == 0 {
		return fmt.Errorf("%s: no pictures (.png, .jpg, .jpeg) for training in it, but %s; it must be %s", o.cfg.Path,
			cmp.Or(oneline.Names(left[:min(3, len(left))]), "nothing"), folders)
	}
	var classes []string
	for i, f := range slices.Concat(parts[ownsets.Train], parts[ownsets.Test]) {
		first := parts[ownsets.Train][0]
		if i >= o.first {
			first = parts[ownsets.Test][0]
		}
		if (f.client == "") != (first.client == "") || f.client != "" && len(o.clients) < i {
			return fmt.Errorf("%s: of this and %s one lies in the folder of a client, the other does not", f.path, o.paths[0])
		}
		if o.paths, classes = append(o.paths, f.path), append(classes, f.class); f.client != "" {
			o.clients = append(o.clients, f.client)
		}
	}
	o.labels, err = ownsets.Label(o.fed, "the folders", classes, nil, o.first)
	return err
}

// eachFile calls with the content of each picture.
func (o *own) eachFile(ctx context.Context, call func(name string, encoded []byte, budget *memory.Budget) error) error {
	for _, path := range o.paths {
		content, err := wholefile.Read(path)
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return err
		}
		if err := call(path, content, memory.NewBudget(int64(len(content)))); err != nil {
			return err
		}
	}
	return nil
}
