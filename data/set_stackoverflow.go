package data

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/data/formats/tff"
)

// The splits of TFF's Stack Overflow.
const (
	soTrain = iota
	soTest
	soHeldOut
)

var soSplits = []string{soTrain: "train", soTest: "test", soHeldOut: "heldout"}

// stackOverflowSet is TFF's Stack Overflow.
func stackOverflowSet() set {
	return set{SetInfo{
		Name: "stackoverflow",
		Doc: "TensorFlow Federated's Stack Overflow: sentences of questions and answers, each word's label is the next one (ids: padding, " +
			"data.vocab words, others, begin, end); one client is one user, read when it is asked for. The test samples are later ones of the same " +
			"users. Clients named heldout/... have test samples only (data.unseen = true evaluates them)",
		Kind: Tokens, Input: "20 words, a label at each", Classes: defaultVocab + specialWords,
		Clients: "342,477 users + 38,758 held out; 204,088 have test samples", Samples: "135,818,730 + 16,586,035, held out 16,491,230",
		Path:  tffStackOverflow.path() + "; beside it TFF's list of words stackoverflow.word_count, else the words are those of the first million training samples",
		vocab: true,
	}, loadStackOverflow}
}

// countedSentences is how many sentences are read to choose the words where there
// is no list of them; countedWords bounds the different words in memory.
const (
	countedSentences = 1_000_000
	countedWords     = 2_000_000
)

func loadStackOverflow(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
	path, err := tffStackOverflow.sqliteFile(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	clients, err := tff.OpenClients(ctx, path, soSplits)
	if err != nil {
		return nil, nil, err
	}
	first := func(each func(text []byte)) error {
		return clients.First(ctx, soSplits[soTrain], countedSentences, func(e *tff.Example) error {
			text, err := e.Text("tokens")
			each(text)
			return err
		})
	}
	words, note, err := soWords(cfg, path, first)
	if err != nil {
		return nil, nil, errors.Join(err, clients.Close())
	}
	fed := words.federation()
	fed.Lazy, fed.file = true, clients
	fed.Notes = append(fed.Notes, note)
	cache := newRowCache(maxCached, func(i int32) ([]uint16, error) { return soRows(words, clients, i) })
	var writers []writer
	for i := range clients.List {
		c := &clients.List[i]
		src := &lazySequences{cache: cache, client: int32(i), seq: sentenceLen}
		train, test, heldOut := int(c.Examples[soTrain]), int(c.Examples[soTest]), int(c.Examples[soHeldOut])
		if train+test > 0 {
			writers = append(writers, writer{id: c.ID, train: span(src, 0, train), test: span(src, train, test)})
		}
		if heldOut > 0 {
			writers = append(writers, writer{id: "heldout/" + c.ID, test: span(src, train+test, heldOut)})
		}
	}
	return fed, writers, nil
}

// soWords returns the vocabulary: TFF's list beside the file, else the words seen
// most in the first training samples, which first goes through.
func soWords(cfg *Config, path string, first func(each func(text []byte)) error) (*vocabulary, string, error) {
	list := filepath.Join(filepath.Dir(path), "stackoverflow.word_count")
	words, err := readWords(list, cfg.Vocab)
	note := fmt.Sprintf("the words are the first %d of %s", len(words), list)
	if errors.Is(err, os.ErrNotExist) {
		counts, sentences := newWordCount(countedWords), 0
		err = first(func(text []byte) {
			counts.add(text)
			sentences++
		})
		words = counts.frequent(cfg.Vocab)
		note = fmt.Sprintf("there is no %s: the words are the %d that the first %d training samples have most", list, len(words), sentences)
	}
	if err != nil {
		return nil, "", err
	}
	v, err := newVocabulary(words)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", list, err)
	}
	return v, note, nil
}

// soRows reads the rows of client number i: its samples of all splits.
func soRows(words *vocabulary, clients *tff.Clients, i int32) ([]uint16, error) {
	n := 0
	for _, examples := range clients.List[i].Examples {
		n += int(examples)
	}
	rows := make([]uint16, 0, min(n, maxReserve)*(sentenceLen+1))
	for split, name := range soSplits {
		if clients.List[i].Examples[split] == 0 {
			continue
		}
		err := clients.Read(context.Background(), int(i), name, func(e *tff.Example) error {
			text, err := e.Text("tokens")
			if err == nil {
				rows = words.appendSentence(rows, text)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}
