package data

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/data/formats/gzfile"
	"github.com/fedfast/fedfast/data/formats/stackexchange"
	"github.com/fedfast/fedfast/data/sys/memory"
)

// stackExchangeSet is the dumps of Stack Exchange's sites.
func stackExchangeSet() set {
	return set{SetInfo{
		Name: "stackexchange",
		Doc: "dumps of Stack Exchange's sites: sentences of questions, answers and comments without HTML, code and addresses, in lower case; " +
			"each word's label is the next one (ids: padding, the data.vocab words that are there most, others, begin, end); one client is one user of one site",
		Kind: Tokens, Input: "20 words, a label at each", Classes: defaultVocab + specialWords,
		Clients: "a site's users", Samples: "a site's sentences",
		Path:  "a Posts.xml or Comments.xml, plain or .gz, a folder with one or both of them, or one of such folders, each named after its site",
		vocab: true,
	}, loadStackExchange}
}

// maxSentences bounds the rows in memory, to about 1 GB.
const maxSentences = 1 << 30 / (2 * (sentenceLen + 1))

// seUser is one user of one site.
type seUser struct {
	site string
	id   int64
}

func loadStackExchange(ctx context.Context, cfg *Config) (*Federation, []writer, error) {
	files, err := dumps(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	words := newWordCount(countedWords)
	sum, err := readDumps(ctx, files, func(_ seUser, sentence []byte) error {
		words.add(sentence)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if len(words.counts) == 0 {
		return nil, nil, fmt.Errorf("%s: holds no text of a user", cfg.Path)
	}
	vocab, err := newVocabulary(words.frequent(cfg.Vocab))
	if err != nil {
		return nil, nil, err
	}
	users, total := map[seUser][]uint16{}, 0
	_, err = readDumps(ctx, files, func(u seUser, sentence []byte) error {
		if total++; total > maxSentences {
			return fmt.Errorf("more than %d sentences, which is more than fits in memory; take smaller sites, or a file of posts or comments alone", maxSentences)
		}
		if err := memory.Check(2 * (sentenceLen + 1)); err != nil {
			return fmt.Errorf("all sentences: %w", err)
		}
		users[u] = vocab.appendSentence(users[u], sentence)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	fed := vocab.federation()
	fed.Notes = append(fed.Notes, fmt.Sprintf("%d texts of %d users; %d texts without a user and %d posts that are no question and no answer are left out",
		sum.Texts, len(users), sum.Anonymous, sum.Others))
	note := fmt.Sprintf("the words are the %d that all texts have most", len(vocab.ids))
	if words.forgotten {
		note += fmt.Sprintf("; of more than %d different ones those seen least were forgotten while counting", words.most)
	}
	fed.Notes = append(fed.Notes, note)
	return fed, userWriters(users, total), nil
}

// userWriters puts the users' rows, which it empties, into one source.
func userWriters(users map[seUser][]uint16, total int) []writer {
	order := make([]seUser, 0, len(users))
	for u := range users {
		order = append(order, u)
	}
	slices.SortFunc(order, func(a, b seUser) int {
		return cmp.Or(strings.Compare(a.site, b.site), cmp.Compare(a.id, b.id))
	})
	all := &tokenRows[uint16]{seq: sentenceLen, rows: make([]uint16, 0, total*(sentenceLen+1))}
	var writers []writer
	for _, u := range order {
		rows := users[u]
		delete(users, u)
		writers = append(writers, writer{
			id:    u.site + "/" + strconv.FormatInt(u.id, 10),
			train: span(all, len(all.rows)/(sentenceLen+1), len(rows)/(sentenceLen+1)),
		})
		all.rows = append(all.rows, rows...)
	}
	return writers
}

// dump is one file of a site.
type dump struct{ site, path string }

// dumps finds the files at a path: posts before comments, sites by their names.
func dumps(path string) ([]dump, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []dump{{filepath.Base(filepath.Dir(full)), path}}, nil
	}
	files := siteDumps(filepath.Base(full), path)
	if len(files) > 0 {
		return files, nil
	}
	folders, err := os.ReadDir(path) // sorted
	if err != nil {
		return nil, err
	}
	for _, f := range folders {
		if inner := filepath.Join(path, f.Name()); isDir(inner) {
			files = append(files, siteDumps(f.Name(), inner)...)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no Posts.xml or Comments.xml, plain or .gz, in it or in a folder of it", path)
	}
	return files, nil
}

// siteDumps returns the files of one site.
func siteDumps(site, dir string) []dump {
	var files []dump
	for _, name := range []string{"Posts.xml", "Comments.xml"} {
		if path, err := gzfile.Find(dir, name); err == nil {
			files = append(files, dump{site, path})
		}
	}
	return files
}

// readDumps calls each with every sentence of every user.
func readDumps(ctx context.Context, files []dump, each func(u seUser, sentence []byte) error) (sum stackexchange.Counts, err error) {
	for _, f := range files {
		counts, err := stackexchange.Read(ctx, f.path, func(user int64, text string, isHTML bool) error {
			var failed error
			stackexchange.Sentences(text, isHTML, func(sentence []byte) {
				if failed == nil {
					failed = each(seUser{f.site, user}, sentence)
				}
			})
			return failed
		})
		if err != nil {
			return sum, err
		}
		sum.Texts += counts.Texts
		sum.Anonymous += counts.Anonymous
		sum.Others += counts.Others
	}
	return sum, nil
}
