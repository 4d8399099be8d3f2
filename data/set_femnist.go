package data

import (
	"context"

	"github.com/fedfast/fedfast/data/formats/leaf"
	"github.com/fedfast/fedfast/data/internal/slab"
)

// The form of LEAF's FEMNIST.
const (
	femnistSide    = 28
	femnistClasses = 62
)

// femnistSet is LEAF's FEMNIST.
func femnistSet() set {
	return set{SetInfo{
		Name: "leaf-femnist",
		Doc:  "LEAF's FEMNIST: handwritten digits and letters of NIST Special Database 19; one client is one writer. Paper 1, ink 0",
		Kind: Image, Input: "28x28x1", Classes: femnistClasses,
		Clients: "3,597 writers in full", Samples: "817,851 in full",
		Path: "a folder of LEAF JSON files (.json or .json.gz) with train/ and test/, as LEAF's scripts make it; the set tff-femnist is the same handwriting, ready to download",
	}, loadFEMNIST}
}

func loadFEMNIST(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
	memory := slab.New()
	form := leaf.Form{Pixels: femnistSide * femnistSide, Classes: femnistClasses, Keep: memory.Keep}
	people, err := readLEAF(ctx, cfg.Path, form)
	if err != nil {
		return nil, nil, err
	}
	writers := make([]writer, len(people))
	for i, p := range people {
		writers[i] = greyWriter(p.id, femnistSide, femnistSide, rowsOf(&p.train, memory), rowsOf(&p.test, memory))
	}
	return &Federation{H: femnistSide, W: femnistSide, C: 1, Classes: femnistClasses}, writers, nil
}

// rowsOf returns the images of a user, whose bytes are in a slab.
func rowsOf(u *leaf.User, memory *slab.Slab) *pixelRows {
	return &pixelRows{bytes: u.Pixels, floats: u.Values, labels: u.Labels, memory: memory}
}

// person is one user with what train and test files hold of it.
type person struct {
	id          string
	train, test leaf.User
}

// readLEAF reads the LEAF files at a path and returns their users sorted by ID,
// as LEAF itself orders them.
func readLEAF(ctx context.Context, path string, form leaf.Form) ([]person, error) {
	files, err := leaf.Find(path)
	if err != nil {
		return nil, err
	}
	train, err := leaf.Read(ctx, files.Train, form)
	if err != nil {
		return nil, err
	}
	test, err := leaf.Read(ctx, files.Test, form)
	if err != nil {
		return nil, err
	}
	var people []person
	for len(train)+len(test) > 0 {
		switch {
		case len(test) == 0 || len(train) > 0 && train[0].ID < test[0].ID:
			people = append(people, person{id: train[0].ID, train: train[0]})
			train = train[1:]
		case len(train) == 0 || test[0].ID < train[0].ID:
			people = append(people, person{id: test[0].ID, test: test[0]})
			test = test[1:]
		default:
			people = append(people, person{id: train[0].ID, train: train[0], test: test[0]})
			train, test = train[1:], test[1:]
		}
	}
	return people, nil
}
