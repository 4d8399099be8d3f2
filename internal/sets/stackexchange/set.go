package stackexchange

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/sets/words"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// Sets returns the sets: stackexchange and stackexchange-tags.
func Sets() []data.Set { return []data.Set{stackExchangeSet(), tagsSet()} }

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
	users := userTexts{budget: budget(files)}
	_, err = readDumps(ctx, files, func(u siteUser, sentence []byte) error {
		return users.add(u, func(rows []uint16) []uint16 { return vocab.AppendSentence(rows, sentence) })
	})
	if err != nil {
		return nil, nil, err
	}
	fed := vocab.Federation()
	fed.Notes = append(fed.Notes, fmt.Sprintf("%d texts of %d users; %d texts without a user and %d posts that are no question and no answer are left out",
		sum.Texts, len(users.of), sum.Anonymous, sum.Others))
	note := fmt.Sprintf("the words are the %d that all texts have most", vocab.Words())
	if counts.Forgotten() {
		note += fmt.Sprintf("; of more than %d different ones those seen least were forgotten while counting", words.Counted)
	}
	fed.Notes = append(fed.Notes, note)
	return fed, users.examples(func(all []uint16) data.View { return data.StepView(words.SentenceLen, all) }), nil
}

// budget returns what may be made of files.
func budget(files []dump) *memory.Budget {
	size := int64(0)
	for _, f := range files {
		if info, err := os.Stat(f.path); err == nil {
			size += info.Size()
		}
	}
	return memory.NewBudget(size)
}

// dump is one file of a site.
type dump struct{ site, path string }

// name returns the file's name without its folder.
func (d dump) name() string { return filepath.Base(d.path) }

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
		counts, err := Read(ctx, f.path, func(p *Post) error {
			var failed error
			Sentences(p.Text, p.IsHTML, func(sentence []byte) {
				if failed == nil {
					failed = each(siteUser{f.site, p.User}, sentence)
				}
			})
			return failed
		})
		if err != nil {
			return sum, err
		}
		sum.add(counts)
	}
	return sum, nil
}
