package leaf

import (
	"context"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/sets/grey"
	"github.com/fedfast/fedfast/internal/sets/slab"
)

// femnistClasses is the number of LEAF's FEMNIST's classes.
const femnistClasses = 62

// Sets returns the family: leaf-femnist, leaf-shakespeare, leaf-sent140 and leaf-celeba.
func Sets() []data.Set { return []data.Set{femnistSet(), shakespeareSet(), sent140Set(), celebaSet()} }

// femnistSet is LEAF's FEMNIST.
func femnistSet() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "leaf-femnist",
		Doc:  "LEAF's FEMNIST: handwritten digits and letters of NIST Special Database 19; one client is one writer. Paper 1, ink 0",
		Kind: data.Image, Input: "28x28x1", Classes: femnistClasses,
		Clients: "3,597 writers in full", Samples: "817,851 in full",
		Published: []data.Published{
			{Source: "LEAF's scripts", Totals: data.Totals{Clients: 3597, Train: 817_851}},
			{Source: "LEAF's documentation", Totals: data.Totals{Clients: 3550, Train: 805_263}},
		},
		Path: "a folder of LEAF JSON files (.json or .json.gz) with train/ and test/, as LEAF's scripts make it; tff-femnist is ready to download",
	}, Load: loadFEMNIST}
}

func loadFEMNIST(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	memory := slab.New()
	form := Form{Pixels: grey.Side * grey.Side, Classes: femnistClasses, Keep: memory.Keep}
	people, err := readLEAF(ctx, cfg.Path, form)
	if err != nil {
		return nil, nil, err
	}
	writers := make([]data.Examples, len(people))
	for i, p := range people {
		writers[i] = grey.Examples(p.id, grey.Side, grey.Side, rowsOf(&p.train, memory), rowsOf(&p.test, memory))
	}
	return &data.Federation{H: grey.Side, W: grey.Side, C: 1, Classes: femnistClasses}, writers, nil
}

// rowsOf returns the images of a user, whose bytes are in a slab.
func rowsOf(u *User, memory *slab.Slab) *grey.Rows {
	return &grey.Rows{Bytes: u.Pixels, Floats: u.Values, Labels: u.Labels, Held: memory}
}

// person is one user with what train and test files hold of it.
type person struct {
	id          string
	train, test User
}

// readLEAF reads the LEAF files at a path and returns their users sorted by ID,
// as LEAF itself orders them.
func readLEAF(ctx context.Context, path string, form Form) ([]person, error) {
	files, err := Find(path)
	if err != nil {
		return nil, err
	}
	train, err := Read(ctx, files.Train, form)
	if err != nil {
		return nil, err
	}
	test, err := Read(ctx, files.Test, form)
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
