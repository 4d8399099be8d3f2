package tff

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sets/words"
)

// The splits of TFF's Stack Overflow.
const (
	soTrain = iota
	soTest
	soHeldOut
)

var soSplits = []string{soTrain: "train", soTest: "test", soHeldOut: "heldout"}

// stackOverflowSet is TFF's Stack Overflow.
func stackOverflowSet() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "stackoverflow",
		Doc: "TensorFlow Federated's Stack Overflow: sentences of questions and answers, each word's label is the next one (ids: padding, " +
			"data.vocab words, others, begin, end); one client is one user, read when it is asked for. The test samples are later ones of the same " +
			"users. Clients named heldout/... have test samples only (data.unseen = true evaluates them)",
		Kind: data.Tokens, Input: "20 words, a label at each", Classes: words.Default + words.Special,
		Clients: "342,477 users + 38,758 held out; 204,088 have test samples", Samples: "135,818,730 + 16,586,035, held out 16,491,230",
		Path:  stackOverflowFile.path() + "; beside it TFF's list of words stackoverflow.word_count, else the words come from the first million training samples",
		Vocab: words.Default, MaxVocab: words.Most,
		Published: []data.Published{{Source: "TFF, without those held out", Totals: data.Totals{Clients: 342_477, Train: 135_818_730, Test: 16_586_035}}},
	}, Load: loadStackOverflow}
}

// countedSentences is how many sentences are read to choose the words where there
// is no list of them; mostReserve bounds those that are made room for before they
// are there.
const (
	countedSentences = 1_000_000
	mostReserve      = 4096
)

func loadStackOverflow(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	return openStackOverflow(ctx, cfg, func(path string, first firstTexts) (*soForm, error) {
		listed, note, err := soWords(cfg, path, first)
		if err != nil {
			return nil, err
		}
		vocab, err := words.New(listed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", beside(path, "word_count"), err)
		}
		fed := vocab.Federation()
		fed.Notes = append(fed.Notes, note)
		return &soForm{
			fed:  fed,
			lazy: func(load loadRows) *data.LazyRows { return data.NewLazyRows(words.SentenceLen, fed.Vocab, load) },
			add: func(rows []uint16, e *Example) ([]uint16, error) {
				text, err := e.Text("tokens")
				if err != nil {
					return rows, err
				}
				return vocab.AppendSentence(rows, text), nil
			},
		}, nil
	})
}

// firstTexts goes through the first training samples.
type firstTexts func(each func(e *Example) error) error

// loadRows reads the examples of a client.
type loadRows = func(client int) ([]uint16, error)

// soForm is what is made of the samples.
type soForm struct {
	fed  *data.Federation
	lazy func(loadRows) *data.LazyRows
	add  func(rows []uint16, e *Example) ([]uint16, error) // a sample's example
}

// openStackOverflow opens the file and lists its clients.
func openStackOverflow(ctx context.Context, cfg data.Config, form func(path string, first firstTexts) (*soForm, error)) (*data.Federation, []data.Examples, error) {
	path, err := stackOverflowFile.in(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	clients, err := OpenClients(ctx, path, soSplits)
	if err != nil {
		return nil, nil, err
	}
	f, err := form(path, func(each func(e *Example) error) error {
		return clients.First(ctx, soSplits[soTrain], countedSentences, each)
	})
	if err != nil {
		return nil, nil, errors.Join(err, clients.Close())
	}
	f.fed.Lazy, f.fed.File = true, clients
	rows := f.lazy(func(i int) ([]uint16, error) { return soRows(clients, i, f.add) })
	var writers []data.Examples
	for i := range clients.List {
		c := &clients.List[i]
		train, test, heldOut := int(c.Examples[soTrain]), int(c.Examples[soTest]), int(c.Examples[soHeldOut])
		all := rows.View(i, train+test+heldOut)
		if train+test > 0 {
			writers = append(writers, data.Examples{Client: c.ID, Train: all.Part(0, train), Test: all.Part(train, train+test)})
		}
		if heldOut > 0 {
			writers = append(writers, data.Examples{Client: "heldout/" + c.ID, Test: all.Part(train+test, all.Len())})
		}
	}
	return f.fed, writers, nil
}

// soWords returns the words: TFF's list next to the file, else those seen most in the
// first training samples.
func soWords(cfg data.Config, path string, first firstTexts) (listed []string, note string, err error) {
	list := beside(path, "word_count")
	listed, err = words.Read(list, cfg.Vocab)
	note = fmt.Sprintf("the words are the first %d of %s", len(listed), list)
	if errors.Is(err, os.ErrNotExist) {
		counts, sentences := words.NewCount(), 0
		err = first(func(e *Example) error {
			text, err := e.Text("tokens")
			counts.Add(text)
			sentences++
			return err
		})
		listed = counts.Frequent(cfg.Vocab)
		note = fmt.Sprintf("there is no %s: the words are the %d that the first %d training samples have most", list, len(listed), sentences)
	}
	return listed, note, err
}

// beside returns TFF's list of a kind next to its file.
func beside(path, kind string) string {
	return filepath.Join(filepath.Dir(path), "stackoverflow."+kind)
}

// soRows reads the examples of client number i: its samples of all splits.
func soRows(clients *Clients, i int, add func([]uint16, *Example) ([]uint16, error)) ([]uint16, error) {
	n := list.Sum(clients.List[i].Examples, func(examples int32) int { return int(examples) })
	rows := make([]uint16, 0, min(n, mostReserve)*(words.SentenceLen+1))
	for split, name := range soSplits {
		if clients.List[i].Examples[split] == 0 {
			continue
		}
		err := clients.Read(context.Background(), i, name, func(e *Example) (err error) {
			rows, err = add(rows, e)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}
