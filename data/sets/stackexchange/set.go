package stackexchange

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/data/formats/gzfile"
	"github.com/fedfast/fedfast/data/internal/regular"
	"github.com/fedfast/fedfast/data/sets/internal/words"
	"github.com/fedfast/fedfast/data/sys/memory"
)

// Sets returns the one set: stackexchange.
func Sets() []data.Set { return []data.Set{stackExchangeSet()} }

// stackExchangeSet is the dumps of Stack Exchange's sites.
func stackExchangeSet() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "stackexchange",
		Doc: "dumps of Stack Exchange's sites: sentences of questions, answers and comments without HTML, code and addresses, in lower case; " +
			"each word's label is the next one (ids: padding, the data.vocab words that are there most, others, begin, end); one client is one user of one site",
		Kind: data.Tokens, Input: "20 words, a label at each", Classes: words.Default + words.Special,
		Clients: "a site's users", Samples: "a site's sentences",
		Path:  "a Posts.xml or Comments.xml, plain or .gz, a folder with one or both of them, or one of such folders, each named after its site",
		Vocab: words.Default, MaxVocab: words.Most,
	}, Load: loadStackExchange}
}

// maxSentences bounds the rows in memory, to about 1 GB.
const maxSentences = 1 << 30 / (2 * (words.SentenceLen + 1))

// siteUser is one user of one site.
type siteUser struct {
	site string
	id   int64
}

func loadStackExchange(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	files, err := dumps(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	counts := words.NewCount()
	sum, err := readDumps(ctx, files, func(_ siteUser, sentence []byte) error {
		counts.Add(sentence)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if counts.None() {
		return nil, nil, fmt.Errorf("%s: holds no text of a user", cfg.Path)
	}
	vocab, err := words.New(counts.Frequent(cfg.Vocab))
	if err != nil {
		return nil, nil, err
	}
	users, total := map[siteUser][]uint16{}, 0
	_, err = readDumps(ctx, files, func(u siteUser, sentence []byte) error {
		if total++; total > maxSentences {
			return fmt.Errorf("more than %d sentences, which is more than fits in memory; take smaller sites, or a file of posts or comments alone", maxSentences)
		}
		if err := memory.Check(2 * (words.SentenceLen + 1)); err != nil {
			return fmt.Errorf("all sentences: %w", err)
		}
		users[u] = vocab.AppendSentence(users[u], sentence)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	fed := vocab.Federation()
	fed.Notes = append(fed.Notes, fmt.Sprintf("%d texts of %d users; %d texts without a user and %d posts that are no question and no answer are left out",
		sum.Texts, len(users), sum.Anonymous, sum.Others))
	note := fmt.Sprintf("the words are the %d that all texts have most", vocab.Words())
	if counts.Forgotten() {
		note += fmt.Sprintf("; of more than %d different ones those seen least were forgotten while counting", words.Counted)
	}
	fed.Notes = append(fed.Notes, note)
	return fed, userWriters(users, total), nil
}

// userWriters puts the users' rows, which it empties, into one source.
func userWriters(users map[siteUser][]uint16, total int) []data.Examples {
	order := make([]siteUser, 0, len(users))
	for u := range users {
		order = append(order, u)
	}
	slices.SortFunc(order, func(a, b siteUser) int {
		return cmp.Or(strings.Compare(a.site, b.site), cmp.Compare(a.id, b.id))
	})
	all := make([]uint16, 0, total*(words.SentenceLen+1))
	var writers []data.Examples
	var ends []int
	for _, u := range order {
		all = append(all, users[u]...)
		delete(users, u)
		writers = append(writers, data.Examples{Client: u.site + "/" + strconv.FormatInt(u.id, 10)})
		ends = append(ends, len(all)/(words.SentenceLen+1))
	}
	view := data.StepView(words.SentenceLen, all)
	first := 0
	for i, end := range ends {
		writers[i].Train = view.Part(first, end)
		first = end
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
		if inner := filepath.Join(path, f.Name()); regular.IsFolder(inner) {
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
func readDumps(ctx context.Context, files []dump, each func(u siteUser, sentence []byte) error) (sum Counts, err error) {
	for _, f := range files {
		counts, err := Read(ctx, f.path, func(user int64, text string, isHTML bool) error {
			var failed error
			Sentences(text, isHTML, func(sentence []byte) {
				if failed == nil {
					failed = each(siteUser{f.site, user}, sentence)
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
