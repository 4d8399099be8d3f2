// Package leaf holds LEAF's FEMNIST, Shakespeare, Sentiment140 and CelebA, and reads the JSON files that
// LEAF's scripts write: users, num_samples and user_data{user: {x: [...], y:
// [...]}}, one or many files a split, plain or gzip. The text is read as a stream;
// what is kept is one byte a pixel or a character where that loses nothing.
package leaf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/sets/words"
)

// Form describes what a sample must be.
type Form struct {
	// Pixels is the number of numbers of x; 0 means that x is a text.
	Pixels int
	// Classes bounds the labels of images: y is in [0, Classes).
	Classes int
	// Lines says that x is a text of any length, or a list of texts of which only
	// number Field, from 0, is kept. Classes bounds its labels.
	Lines bool
	Field int
	// SeqLen is the number of characters of a text x; its y is one character.
	SeqLen int
	// Keep, when not nil, gets the pixels of every user that has been read and
	// returns them where they are to stay. It is called from several goroutines.
	Keep func(pixels []byte) []byte
}

// User is what one file holds of one user.
type User struct {
	ID, File string
	// Images: one label per sample; Form.Pixels bytes k a sample, which stand for
	// k/255, or floats if any pixel of the user is no k/255.
	Labels []int32
	Pixels []byte
	Values []float32
	// Lines: one per sample, with its label.
	Lines []string
	// Texts: sample i is the SeqLen characters of Text from character Starts[i]
	// on, and its y the one after them. Samples that continue one another
	// share their characters.
	Text   []rune
	Starts []int32
}

// Len returns the number of samples.
func (u *User) Len() int { return len(u.Labels) + len(u.Starts) }

// Files are the files of a set by split.
type Files struct {
	Train, Test []string
}

// Find lists the files at a path: a folder with train/ or test/ (LEAF's data
// folder, or the one that holds it), a folder of files, or one file. Files
// that are not under train/ or test/ count as train.
func Find(path string) (Files, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Files{}, err
	}
	if !info.IsDir() {
		return Files{Train: []string{path}}, nil
	}
	for _, dir := range []string{path, filepath.Join(path, "data")} {
		train, err := inFolder(filepath.Join(dir, "train"))
		if err != nil {
			return Files{}, err
		}
		test, err := inFolder(filepath.Join(dir, "test"))
		if err != nil {
			return Files{}, err
		}
		if len(train)+len(test) > 0 {
			return Files{Train: train, Test: test}, nil
		}
	}
	all, err := inFolder(path)
	if err != nil {
		return Files{}, err
	}
	if len(all) == 0 {
		return Files{}, fmt.Errorf("%s: no .json or .json.gz file in it, nor in train/ or test/", path)
	}
	return Files{Train: all}, nil
}

// inFolder lists the JSON files of a folder by name; none if it does not exist.
func inFolder(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".gz"); strings.HasSuffix(name, ".json") && !e.IsDir() && name[0] != '.' {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

// Read reads files, several at once, and returns their users sorted by ID. A
// user in two of the files is an error.
func Read(ctx context.Context, paths []string, form Form) ([]User, error) {
	byFile := make([][]User, len(paths))
	failures := make([]error, len(paths))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, path := range paths {
		group.Go(func() error {
			byFile[i], failures[i] = ReadFile(ctx, path, form)
			return nil // the first failure by name counts, not by time
		})
	}
	_ = group.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	users := slices.Concat(byFile...)
	slices.SortStableFunc(users, func(a, b User) int { return strings.Compare(a.ID, b.ID) })
	for i := 1; i < len(users); i++ {
		if a, b := &users[i-1], &users[i]; a.ID == b.ID {
			return nil, fmt.Errorf("%s: user %q is also in %s; put files of test samples in a folder test, "+
				"others in train", b.File, b.ID, a.File)
		}
	}
	return users, nil
}

// ReadFile reads one file and returns its users in the order of its list of
// users. Its errors name the file and, where one is at fault, the user.
func ReadFile(ctx context.Context, path string, form Form) (users []User, err error) {
	f, err := gzfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	d := decoder{scanner: newScanner(f, path), take: f.Budget.Take, path: path, form: form, users: map[string]*User{}}
	if err := d.file(ctx); err != nil {
		return nil, err
	}
	return d.ordered()
}

const (
	tweetLen  = 25 // words, as in LEAF
	tweetText = 4  // its field of x: id, date, query, user, text
)

// sent140Set is LEAF's Sentiment140.
func sent140Set() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "leaf-sent140",
		Doc: "LEAF's Sentiment140: short messages, glad (1) or not (0); one client is one account. The words are the data.vocab that the training messages have most, " +
			"in lower case (ids: padding, words, others), where LEAF takes those of GloVe",
		Kind: data.Tokens, Input: fmt.Sprintf("%d words", tweetLen), Classes: 2,
		Clients: "660,120 accounts in full", Samples: "1,600,498 in full",
		Published: []data.Published{{Source: "LEAF's documentation", Totals: data.Totals{Clients: 660_120, Train: 1_600_498}}},
		Path:      "a folder of LEAF JSON files (.json or .json.gz) with train/ and test/, as LEAF's scripts make it",
		Vocab:     words.Default, MaxVocab: words.Most,
	}, Load: loadSent140}
}

func loadSent140(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	people, err := readLEAF(ctx, cfg.Path, Form{Lines: true, Field: tweetText, Classes: 2})
	if err != nil {
		return nil, nil, err
	}
	counts := words.NewCount()
	for i := range people {
		for k, text := range people[i].train.Lines {
			line := words.Line([]byte(text), false)
			people[i].train.Lines[k] = string(line)
			counts.Add(line)
		}
		for k, text := range people[i].test.Lines {
			people[i].test.Lines[k] = string(words.Line([]byte(text), false))
		}
	}
	if counts.None() {
		return nil, nil, fmt.Errorf("%s: the training messages have no words", cfg.Path)
	}
	vocab, err := words.New(counts.Frequent(cfg.Vocab))
	if err != nil {
		return nil, nil, err
	}
	writers := make([]data.Examples, len(people))
	for i, p := range people {
		var rows []uint16
		for _, u := range []*User{&p.train, &p.test} {
			for _, line := range u.Lines {
				rows = vocab.AppendText(rows, []byte(line), tweetLen)
			}
		}
		view := data.TokenView(tweetLen, rows, append(p.train.Labels, p.test.Labels...))
		n := p.train.Len()
		writers[i] = data.Examples{Client: p.id, Train: view.Part(0, n), Test: view.Part(n, view.Len())}
	}
	fed := &data.Federation{H: 1, W: 1, SeqLen: tweetLen, Vocab: vocab.TextSize(), Classes: 2}
	fed.Notes = append(fed.Notes, fmt.Sprintf("the words are the %d that the training messages have most", vocab.Words()))
	return fed, writers, nil
}
