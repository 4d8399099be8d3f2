package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/fedfast/fedfast/data/formats/fedjax"
)

// fedjaxStackOverflowSet is FedJAX's Stack Overflow.
func fedjaxStackOverflowSet() set {
	return set{SetInfo{
		Name: "fedjax-stackoverflow",
		Doc: "FedJAX's Stack Overflow: the sentences of the set stackoverflow in FedJAX's files, and FedJAX's ids (padding, begin, end, " +
			"data.vocab words, others); one client is one user, read when it is asked for",
		Kind: Tokens, Input: "20 words, a label at each", Classes: defaultVocab + specialWords,
		Clients: "342,477 users + 38,758 held out; 204,088 have test samples", Samples: "135,818,730 + 16,586,035, held out 16,491,230",
		Path:  "the folder that holds FedJAX's stackoverflow_train.sqlite, stackoverflow_test.sqlite and stackoverflow_held_out.sqlite; beside them TFF's list of words stackoverflow.word_count, else the words are those of the first million training samples",
		vocab: true,
	}, loadFedJAXStackOverflow}
}

// fedjaxSplits are the ends of the files' names, by their numbers in soSplits.
var fedjaxSplits = []string{soTrain: "train", soTest: "test", soHeldOut: "held_out"}

// fedjaxFiles are the open files of Stack Overflow.
type fedjaxFiles []*fedjax.Clients

// Close closes them.
func (f fedjaxFiles) Close() error {
	var errs []error
	for _, c := range f {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// fedjaxUser tells where a user's samples are: number of the user in each file,
// -1 for not there.
type fedjaxUser [3]int32

func loadFedJAXStackOverflow(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
	if !isDir(cfg.Path) {
		return nil, nil, fmt.Errorf("data.path = %q: must be %s", cfg.Path, fedjaxStackOverflowSet().Path)
	}
	var files fedjaxFiles
	users := map[string]*fedjaxUser{}
	for split, name := range fedjaxSplits {
		c, err := fedjax.OpenClients(ctx, filepath.Join(cfg.Path, "stackoverflow_"+name+".sqlite"))
		if err != nil {
			return nil, nil, errors.Join(err, files.Close())
		}
		files = append(files, c)
		for i := range c.List {
			id := c.List[i].ID
			if split == soHeldOut {
				id = "heldout/" + id
			}
			if users[id] == nil {
				users[id] = &fedjaxUser{-1, -1, -1}
			}
			users[id][split] = int32(i)
		}
	}
	words, note, err := soWords(cfg, filepath.Join(cfg.Path, "stackoverflow_train.sqlite"), files.first(ctx), newFedJAXVocabulary)
	if err != nil {
		return nil, nil, errors.Join(err, files.Close())
	}
	fed := words.federation()
	fed.Lazy, fed.file = true, files
	fed.Notes = append(fed.Notes, note)
	ids := slices.Sorted(maps.Keys(users))
	places := make([]fedjaxUser, len(ids))
	cache := newRowCache(maxCached, func(i int32) ([]uint16, error) { return files.rows(words, places[i]) })
	var writers []writer
	for i, id := range ids {
		places[i] = *users[id]
		src := &lazySequences{cache: cache, client: int32(i), seq: sentenceLen}
		train := files.examples(places[i], soTrain)
		test := cmp.Or(files.examples(places[i], soTest), files.examples(places[i], soHeldOut))
		writers = append(writers, writer{id: id, train: span(src, 0, train), test: span(src, train, test)})
	}
	return fed, writers, nil
}

// examples returns how many samples of a split a user has.
func (f fedjaxFiles) examples(u fedjaxUser, split int) int {
	if u[split] < 0 {
		return 0
	}
	return f[split].List[u[split]].Examples
}

// first goes through the first training samples.
func (f fedjaxFiles) first(ctx context.Context) func(each func(text []byte)) error {
	return func(each func(text []byte)) error {
		left := countedSentences
		for i := 0; i < len(f[soTrain].List) && left > 0; i++ {
			texts, err := f.texts(ctx, soTrain, i)
			if err != nil {
				return err
			}
			for _, text := range texts[:min(left, len(texts))] {
				each(text)
			}
			left -= len(texts)
		}
		return nil
	}
}

// texts returns the sentences of a user in one file.
func (f fedjaxFiles) texts(ctx context.Context, split, i int) ([][]byte, error) {
	arrays, err := f[split].Read(ctx, i)
	if err != nil {
		return nil, err
	}
	texts, err := arrays.Texts("tokens")
	if err != nil {
		return nil, fmt.Errorf("stackoverflow_%s.sqlite: client %.64q: %w", fedjaxSplits[split], f[split].List[i].ID, err)
	}
	return texts, nil
}

// rows reads the rows of a user: the samples of all files.
func (f fedjaxFiles) rows(words *vocabulary, u fedjaxUser) ([]uint16, error) {
	var rows []uint16
	for split, i := range u {
		if i < 0 {
			continue
		}
		texts, err := f.texts(context.Background(), split, int(i))
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			rows = words.appendSentence(rows, text)
		}
	}
	return slices.Clip(rows), nil
}
