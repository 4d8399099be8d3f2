package tff

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/sets/words"
)

// tagsSet is TFF's Stack Overflow with the tags of its questions.
func tagsSet() data.Set {
	so := stackOverflowSet()
	so.Name = "stackoverflow-tags"
	so.Doc = "TensorFlow Federated's Stack Overflow: a sentence of a question or an answer and the question's title, as the shares of data.vocab words; its labels " +
		"are the question's tags, of the 500 that most users have. One client is one user, read when it is asked for. The test samples are later ones of the same " +
		"users. Clients named heldout/... have test samples only (data.unseen = true evaluates them)"
	so.Kind, so.Input, so.Classes = data.Vector, "shares of 10,000 words", words.MostTags
	so.Path = stackOverflowFile.path() + "; beside it TFF's lists stackoverflow.word_count and stackoverflow.tag_count, else the words and tags come from the first million training samples"
	so.MaxVocab, so.Load = words.MostInBags, loadTags
	return so
}

func loadTags(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	return openStackOverflow(ctx, cfg, func(path string, first firstTexts) (*soForm, error) {
		listed, note, err := soWords(cfg, path, first)
		if err != nil {
			return nil, err
		}
		tags, more, err := soTags(path, first)
		if err != nil {
			return nil, err
		}
		bags, err := words.NewBags(listed, tags)
		if err != nil {
			return nil, fmt.Errorf("%s or %s: %w", beside(path, "word_count"), beside(path, "tag_count"), err)
		}
		fed := bags.Federation()
		fed.Notes = append(fed.Notes, note, more)
		return &soForm{
			fed:  fed,
			lazy: func(load loadRows) *data.LazyRows { return data.NewLazyBags(bags.Words(), bags.Tags(), load) },
			add: func(all []uint16, e *Example) ([]uint16, error) {
				text, err1 := e.Text("tokens")
				title, err2 := e.Text("title")
				tags, err3 := e.Text("tags")
				if err := cmp.Or(err1, err2, err3); err != nil {
					return all, err
				}
				return bags.Append(all, tags, text, title), nil
			},
		}, nil
	})
}

// soTags returns the tags: the first ones of TFF's list next to the file, else those
// seen most in the first training samples.
func soTags(path string, first firstTexts) (tags []string, note string, err error) {
	list := beside(path, "tag_count")
	tags, err = readTags(list)
	note = fmt.Sprintf("the tags are the first %d of %s", len(tags), list)
	if errors.Is(err, os.ErrNotExist) {
		counts := words.NewCount()
		err = first(func(e *Example) error {
			text, err := e.Text("tags")
			counts.Add(bytes.ReplaceAll(text, []byte{'|'}, []byte{' '}))
			return err
		})
		tags = counts.Frequent(words.MostTags)
		note = fmt.Sprintf("there is no %s: the tags are the %d that the first training samples have most", list, len(tags))
	}
	return tags, note, err
}

// readTags reads the first tags of TFF's list, an object in JSON whose members are
// tags and the numbers of their users, those with most first.
func readTags(path string) (tags []string, err error) {
	f, err := gzfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	d := json.NewDecoder(f)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("%s: must be an object in JSON, of tags and the numbers of their users", path)
	}
	for d.More() && len(tags) < words.MostTags {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		tag, _ := t.(string) // a member's name is a text
		var users float64
		if err := d.Decode(&users); err != nil {
			return nil, fmt.Errorf("%s: tag %.40q: must have the number of its users: %w", path, tag, err)
		}
		tags = append(tags, tag)
	}
	return tags, nil
}
