package data

import (
	"context"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/fedfast/fedfast/data/formats/gzfile"
	"github.com/fedfast/fedfast/data/formats/leaf"
	"github.com/fedfast/fedfast/data/formats/shakespeare"
)

// windowLen is the number of characters from which the next one is told.
const windowLen = 80

// shakespeareSet is LEAF's Shakespeare.
func shakespeareSet() set {
	return set{SetInfo{
		Name: "leaf-shakespeare",
		Doc:  "LEAF's Shakespeare: 80 characters of a role, the next one is the label; one client is one speaking role of one play",
		Kind: Tokens, Input: "80 characters", Classes: len(leafLetters),
		Clients: "1,129 roles in full", Samples: "about 4.2 million windows in full",
		Path:      "LEAF's raw_data.txt (plain or .gz) or the folder that holds it, or a folder of LEAF JSON files with train/ and test/",
		Encodings: []string{encodingLEAF, encodingFedEx},
	}, loadShakespeare}
}

func loadShakespeare(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
	info, err := os.Stat(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	raw := cfg.Path
	if info.IsDir() {
		raw, err = gzfile.Find(cfg.Path, "raw_data.txt")
		if err != nil {
			if _, none := leaf.Find(cfg.Path); none != nil {
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
	fed := &Federation{SeqLen: windowLen, Vocab: text.encoding.vocab, Classes: text.encoding.vocab}
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
	writers  []writer
}

// roles reads the raw text: one source holds all of it.
func (t *textSet) roles(path string) error {
	content, err := gzfile.ReadAll(path)
	if err != nil {
		return err
	}
	roles := shakespeare.Roles(string(content))
	size := 0
	for _, r := range roles {
		size += utf8.RuneCountInString(r.Text)
	}
	all := &windows{seq: windowLen, text: make([]byte, 0, size)}
	for _, r := range roles {
		first := len(all.text)
		for _, c := range r.Text {
			all.text = append(all.text, t.id(c))
		}
		if n := len(all.text) - first - windowLen; n > 0 {
			t.writers = append(t.writers, writer{id: r.ID, train: span(all, first, n)})
		}
	}
	if len(t.writers) == 0 {
		return fmt.Errorf("%s: no role with more than %d characters in it; must be a text in the layout of Project Gutenberg's Etext 100", path, windowLen)
	}
	return nil
}

// users reads LEAF JSON: one source a user.
func (t *textSet) users(ctx context.Context, path string) error {
	people, err := readLEAF(ctx, path, leaf.Form{SeqLen: windowLen})
	if err != nil {
		return err
	}
	for _, p := range people {
		src := &windows{seq: windowLen, text: make([]byte, 0, len(p.train.Text)+len(p.test.Text))}
		train := t.samples(src, &p.train)
		test := t.samples(src, &p.test)
		t.writers = append(t.writers, writer{id: p.id, train: train, test: test})
	}
	return nil
}

// samples appends a user's text to src and returns the user's samples.
func (t *textSet) samples(src *windows, u *leaf.User) View {
	base := int32(len(src.text))
	for _, c := range u.Text {
		src.text = append(src.text, t.id(c))
	}
	inRow := true
	places := make([]int32, len(u.Starts))
	for i, s := range u.Starts {
		places[i] = base + s
		inRow = inRow && places[i] == places[0]+int32(i)
	}
	if inRow && len(places) > 0 {
		return span(src, int(places[0]), len(places))
	}
	return chosen(src, places)
}

// id returns the id of a character and counts the strange ones.
func (t *textSet) id(c rune) byte {
	id, known := t.encoding.id(c)
	if !known {
		t.strange[c]++
	}
	return id
}
