package leaf

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/sets/words"
)

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
			line := words.Line([]byte(text))
			people[i].train.Lines[k] = string(line)
			counts.Add(line)
		}
		for k, text := range people[i].test.Lines {
			people[i].test.Lines[k] = string(words.Line([]byte(text)))
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
