package leaf

import (
	"context"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sets/leaf/shakespeare"
)

// windowLen is the number of characters from which the next one is told.
const windowLen = 80

// shakespeareSet is LEAF's Shakespeare.
func shakespeareSet() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "leaf-shakespeare",
		Doc:  "LEAF's Shakespeare: 80 characters of a role, the next one is the label; one client is one speaking role of one play",
		Kind: data.Tokens, Input: "80 characters", Classes: len(leafLetters),
		Clients: "1,129 roles in full", Samples: "about 4.2 million windows in full",
		Published: []data.Published{
			{Source: "LEAF's paper", Totals: data.Totals{Clients: 1129, Train: 4_226_150}},
			{Source: "LEAF's scripts on Project Gutenberg's text", Totals: data.Totals{Clients: 1129, Train: 4_226_158}},
			{Source: "LEAF's scripts on the Moby text", Totals: data.Totals{Clients: 1140, Train: 4_224_556}},
		},
		Path:      "LEAF's raw_data.txt (plain or .gz) or the folder that holds it, or a folder of LEAF JSON files with train/ and test/",
		Encodings: []string{encodingLEAF, encodingFedEx},
	}, Load: loadShakespeare}
}

func loadShakespeare(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	info, err := os.Stat(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	raw := cfg.Path
	if info.IsDir() {
		raw, err = gzfile.Find(cfg.Path, "raw_data.txt")
		if err != nil {
			if _, none := Find(cfg.Path); none != nil {
				return nil, nil, fmt.Errorf("%s: neither raw_data.txt, plain or .gz, nor LEAF JSON files in it, in train/ or in test/", cfg.Path)
			}
		}
	} else if strings.HasSuffix(strings.TrimSuffix(raw, ".gz"), ".json") {
		raw = ""
	}
	text := textSet{encoding: encodingByName(cfg.Encoding), strange: map[rune]int{}}
	if raw != "" {
		err = text.roles(raw)
	} else {
		err = text.users(ctx, cfg.Path)
	}
	if err != nil {
		return nil, nil, err
	}
	fed := &data.Federation{SeqLen: windowLen, Vocab: text.encoding.vocab, Classes: text.encoding.vocab}
	fed.Notes = append(fed.Notes, "windows move by one character: those at a cut share up to 80 characters with the part before it, and shuffled ones (data.iid) nearly all of theirs")
	if n := len(text.strange); n > 0 {
		count := 0
		for _, c := range text.strange {
			count += c
		}
		fed.Notes = append(fed.Notes, fmt.Sprintf("%d characters (%d different ones) are not in the table of encoding %q: they count as id %d", count, n, cfg.Encoding, text.encoding.other))
	}
	return fed, text.writers, nil
}

// textSet turns texts into writers.
type textSet struct {
	encoding *encoding
	strange  map[rune]int // characters that the encoding lacks; only counted
	writers  []data.Examples
}

// roles reads the raw text: one source holds all of it.
func (t *textSet) roles(path string) error {
	content, err := gzfile.ReadAll(path)
	if err != nil {
		return err
	}
	roles := shakespeare.Roles(string(content))
	size := list.Sum(roles, func(r shakespeare.Role) int { return utf8.RuneCountInString(r.Text) })
	ids := make([]byte, 0, size)
	var ends []int // of each role's text
	for _, r := range roles {
		for _, c := range r.Text {
			ids = append(ids, t.id(c))
		}
		ends = append(ends, len(ids))
	}
	all := data.TextView(windowLen, ids)
	first := 0
	for i, r := range roles {
		if last := ends[i] - windowLen; last > first {
			t.writers = append(t.writers, data.Examples{Client: r.ID, Train: all.Part(first, last)})
		}
		first = ends[i]
	}
	if len(t.writers) == 0 {
		return fmt.Errorf("%s: no role with more than %d characters in it; must be a text in the layout of Project Gutenberg's Etext 100", path, windowLen)
	}
	return nil
}

// users reads LEAF JSON: one source a user.
func (t *textSet) users(ctx context.Context, path string) error {
	people, err := readLEAF(ctx, path, Form{SeqLen: windowLen})
	if err != nil {
		return err
	}
	for _, p := range people {
		text := t.append(make([]byte, 0, len(p.train.Text)+len(p.test.Text)), &p.train)
		ofTest := int32(len(text))
		all := data.TextView(windowLen, t.append(text, &p.test))
		t.writers = append(t.writers, data.Examples{Client: p.id, Train: started(all, p.train.Starts, 0), Test: started(all, p.test.Starts, ofTest)})
	}
	return nil
}

// append appends the ids of a user's text.
func (t *textSet) append(ids []byte, u *User) []byte {
	for _, c := range u.Text {
		ids = append(ids, t.id(c))
	}
	return ids
}

// started returns the windows that start at the given places from base on: a part
// if they are in a row.
func started(all data.View, starts []int32, base int32) data.View {
	inRow := true
	places := make([]int32, len(starts))
	for i, s := range starts {
		places[i] = base + s
		inRow = inRow && places[i] == places[0]+int32(i)
	}
	if inRow && len(places) > 0 {
		return all.Part(int(places[0]), int(places[0])+len(places))
	}
	return all.Pick(places)
}

// id returns the id of a character and counts the strange ones.
func (t *textSet) id(c rune) byte {
	id, known := t.encoding.id(c)
	if !known {
		t.strange[c]++
	}
	return id
}
