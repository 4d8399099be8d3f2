package data

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/data/formats/tff"
)

// tffLetters are the characters of TFF's Shakespeare in the order of their ids,
// which begin at 1; id 0 pads. (TensorFlow Federated,
// baselines/shakespeare/char_prediction_preprocessing.py)
const tffLetters = "dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r"

// The ids after those of the characters.
const (
	tffOther = len(tffLetters) + 1 + iota // any other byte
	tffBegin                              // before a snippet
	tffEnd                                // after a snippet
	tffVocab                              // number of ids
)

// tffShakespeareSet is TFF's Shakespeare.
func tffShakespeareSet() set {
	return set{SetInfo{
		Name: "tff-shakespeare",
		Doc:  "TensorFlow Federated's Shakespeare: runs of 80 characters of what a role says, each character's label is the next one (90 ids: 86 characters, padding, others, begin, end); one client is one role",
		Kind: Tokens, Input: "80 characters, a label at each", Classes: tffVocab,
		Clients: "715 roles", Samples: "16,068 + 2,356 snippets, each one run or more",
		Path: tffShakespeare.path(),
	}, loadTFFShakespeare}
}

func loadTFFShakespeare(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
	people := map[string]*[2][]byte{}
	strange := 0
	err := tffShakespeare.read(ctx, cfg.Path, []string{"train", "test"}, func(split, client string, _ int64, e *tff.Example) error {
		text, err := e.Text("snippets")
		if err != nil {
			return err
		}
		rows := byClient(people, client)
		part := &rows[0]
		if split == "test" {
			part = &rows[1]
		}
		n := 0
		*part, n = appendSnippet(*part, text)
		strange += n
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	fed, writers := stepFederation(people, tffVocab)
	if strange > 0 {
		fed.Notes = append(fed.Notes, fmt.Sprintf("%d characters are not in TFF's table: they count as id %d", strange, tffOther))
	}
	return fed, writers, nil
}

// stepFederation returns the federation and writers of rows for sequences: those
// of training and test by client.
func stepFederation(people map[string]*[2][]byte, vocab int) (*Federation, []writer) {
	all := &sequences{seq: windowLen}
	var writers []writer
	for _, id := range slices.Sorted(maps.Keys(people)) {
		w := writer{id: id}
		for i, v := range []*View{&w.train, &w.test} {
			*v = span(all, len(all.rows)/(windowLen+1), len(people[id][i])/(windowLen+1))
			all.rows = append(all.rows, people[id][i]...)
		}
		writers = append(writers, w)
	}
	return &Federation{SeqLen: windowLen, Vocab: vocab, Classes: vocab, EveryStep: true}, writers
}

// appendSnippet appends the rows of a snippet: its begin, characters and end in
// runs of windowLen+1 ids, the last one padded. A row that holds nothing after
// its first id has no label and is left out. strange counts the bytes that the
// table lacks.
func appendSnippet(rows, text []byte) (longer []byte, strange int) {
	start := len(rows)
	rows = append(rows, byte(tffBegin))
	for _, c := range text {
		id := tffIDs[c]
		if int(id) == tffOther {
			strange++
		}
		rows = append(rows, id)
	}
	rows = append(rows, byte(tffEnd))
	const row = windowLen + 1
	switch rest := (len(rows) - start) % row; rest {
	case 0:
	case 1:
		rows = rows[:len(rows)-1]
	default:
		rows = append(rows, make([]byte, row-rest)...)
	}
	return rows, strange
}

// tffIDs gives the id of every byte.
var tffIDs = func() (ids [256]byte) {
	for c := range ids {
		ids[c] = byte(tffOther)
		if i := bytes.IndexByte([]byte(tffLetters), byte(c)); i >= 0 {
			ids[c] = byte(1 + i)
		}
	}
	return ids
}()
