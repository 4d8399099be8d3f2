package leaf

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/sets/picture"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

const (
	celebaSide   = 84 // pixels, as in LEAF
	celebaFolder = "img_align_celeba"
)

// celebaSet is LEAF's CelebA.
func celebaSet() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "leaf-celeba",
		Doc:  "LEAF's CelebA: faces, smiling (1) or not (0); one client is one celebrity. Pixels are means over areas of the original",
		Kind: data.Image, Input: fmt.Sprintf("%dx%dx3", celebaSide, celebaSide), Classes: 2,
		Clients: "9,343 celebrities in full", Samples: "200,288 in full",
		Published: []data.Published{{Source: "LEAF's documentation", Totals: data.Totals{Clients: 9343, Train: 200_288}}},
		Path:      "a folder of LEAF JSON files (.json or .json.gz) with train/ and test/, as LEAF's scripts make it, and raw/" + celebaFolder + " with the pictures",
	}, Load: loadCelebA}
}

func loadCelebA(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	people, err := readLEAF(ctx, cfg.Path, Form{Lines: true, Classes: 2})
	if err != nil {
		return nil, nil, err
	}
	var folder string
	for _, dir := range []string{"raw", "data/raw", "."} {
		if folder = filepath.Join(cfg.Path, dir, celebaFolder); regular.IsFolder(folder) {
			break
		}
	}
	if !regular.IsFolder(folder) {
		return nil, nil, fmt.Errorf("%s: no folder raw/%s in it, which holds the pictures", cfg.Path, celebaFolder)
	}
	if err := roomForFaces(folder, people); err != nil {
		return nil, nil, err
	}
	writers := make([]data.Examples, len(people))
	failures := make([]error, len(people))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range people {
		group.Go(func() error {
			if failures[i] = ctx.Err(); failures[i] == nil {
				writers[i], failures[i] = faces(folder, &people[i])
			}
			return nil // the first failure by name counts, not by time
		})
	}
	_ = group.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, nil, err
		}
	}
	return &data.Federation{H: celebaSide, W: celebaSide, C: 3, Classes: 2}, writers, nil
}

// roomForFaces returns an error unless the files of the pictures are large enough for
// as many as are listed, of which one may be listed often.
func roomForFaces(folder string, people []person) error {
	listed, size := int64(0), int64(0)
	seen := map[string]bool{}
	for i := range people {
		for _, u := range []*User{&people[i].train, &people[i].test} {
			for _, name := range u.Lines {
				if filepath.Base(name) != name || name == "." || name == ".." {
					return fmt.Errorf("%s: user %.64q: picture %s must be a name without a folder", u.File, u.ID, oneline.Name(name))
				}
				if listed++; seen[name] {
					continue
				}
				seen[name] = true
				info, err := os.Stat(filepath.Join(folder, name))
				if err != nil {
					return err
				}
				size += info.Size()
			}
		}
	}
	if err := memory.NewBudget(size).Take(listed * 3 * celebaSide * celebaSide); err != nil {
		return fmt.Errorf("%s: %d pictures of %d files: %w", folder, listed, len(seen), err)
	}
	return nil
}

// faces reads the pictures of one celebrity.
func faces(folder string, p *person) (data.Examples, error) {
	var pixels []byte
	for _, u := range []*User{&p.train, &p.test} {
		for _, name := range u.Lines {
			face, err := face(filepath.Join(folder, name))
			if err != nil {
				return data.Examples{}, err
			}
			pixels = append(pixels, face...)
		}
	}
	view := data.ImageView(celebaSide, celebaSide, 3, pixels, append(p.train.Labels, p.test.Labels...))
	n := p.train.Len()
	return data.Examples{Client: p.id, Train: view.Part(0, n), Test: view.Part(n, view.Len())}, nil
}

// face reads one picture.
func face(path string) ([]byte, error) {
	encoded, err := gzfile.ReadAll(path)
	if err != nil {
		return nil, err
	}
	m, err := picture.Decode(encoded, memory.NewBudget(int64(len(encoded))), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	size := m.Bounds().Size()
	return picture.Resize(picture.Append(nil, m, 3), size.X, size.Y, 3, celebaSide, celebaSide), nil
}
