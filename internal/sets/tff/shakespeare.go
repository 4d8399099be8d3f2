package tff

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/data"
)

// windowLen is the number of characters of an example.
const windowLen = 80

// letters are the characters of TFF's Shakespeare in the order of their ids,
// which begin at 1; id 0 pads. (TensorFlow Federated,
// baselines/shakespeare/char_prediction_preprocessing.py)
const letters = "dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r"

// The ids after those of the characters.
const (
	otherID = len(letters) + 1 + iota // any other byte
	beginID                           // before a snippet
	endID                             // after a snippet
	idCount                           // number of ids
)

// shakespeareSet is TFF's Shakespeare.
func shakespeareSet() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "tff-shakespeare",
		Doc: "TensorFlow Federated's Shakespeare: runs of 80 characters of what a role says, each character's label is " +
			"the next one (90 ids: 86 characters, padding, others, begin, end); one client is one role",
		Kind: data.Tokens, Input: "80 characters, a label at each", Classes: idCount,
		Clients: "715 roles", Samples: "16,068 + 2,356 snippets, each one run or more",
		Published: []data.Published{{Source: "TFF", Totals: data.Totals{Clients: 715, Train: 16_068, Test: 2356}, Unit: "snippets"}},
		Path:      shakespeareFile.path(),
	}, Load: loadShakespeare}
}

func loadShakespeare(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	people := map[string]*[2][]byte{}
	strange := 0
	err := shakespeareFile.read(ctx, cfg.Path, []string{"train", "test"}, func(split, client string, _ int64, e *Example) error {
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
	fed, writers := stepFederation(people, idCount)
	if strange > 0 {
		fed.Notes = append(fed.Notes, fmt.Sprintf("%d characters are not in TFF's table: they count as id %d", strange, otherID))
	}
	return fed, writers, nil
}

// stepFederation returns the federation and clients of rows for data.StepView:
// those of training and test by client.
func stepFederation(people map[string]*[2][]byte, vocab int) (*data.Federation, []data.Examples) {
	ids := slices.Sorted(maps.Keys(people))
	var rows []byte
	for _, id := range ids {
		rows = append(append(rows, people[id][0]...), people[id][1]...)
	}
	all, first := data.StepView(windowLen, rows), 0
	part := func(rows []byte) data.View {
		v := all.Part(first, first+len(rows)/(windowLen+1))
		first += v.Len()
		return v
	}
	var writers []data.Examples
	for _, id := range ids {
		train := part(people[id][0])
		writers = append(writers, data.Examples{Client: id, Train: train, Test: part(people[id][1])})
	}
	return &data.Federation{SeqLen: windowLen, Vocab: vocab, Classes: vocab, EveryStep: true}, writers
}

// appendSnippet appends the rows of a snippet: its begin, characters and end in
// runs of windowLen+1 ids, the last one padded. A row that holds nothing after
// its first id has no label and is left out. strange counts the bytes that the
// table lacks.
func appendSnippet(rows, text []byte) (longer []byte, strange int) {
	start := len(rows)
	rows = append(rows, byte(beginID))
	for _, c := range text {
		id := letterIDs[c]
		if int(id) == otherID {
			strange++
		}
		rows = append(rows, id)
	}
	rows = append(rows, byte(endID))
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

// letterIDs gives the id of every byte.
var letterIDs = func() (ids [256]byte) {
	for c := range ids {
		ids[c] = byte(otherID)
		if i := bytes.IndexByte([]byte(letters), byte(c)); i >= 0 {
			ids[c] = byte(1 + i)
		}
	}
	return ids
}()
