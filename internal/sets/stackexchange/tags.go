package stackexchange

import (
	"context"
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sets/words"
)

// tagsSet is the tags of the questions of Stack Exchange's sites.
func tagsSet() data.Set {
	return data.Set{SetInfo: data.SetInfo{
		Name: "stackexchange-tags",
		Doc: "dumps of Stack Exchange's sites: a sentence of a question or an answer and the question's title, as the shares of the data.vocab words that are " +
			"there most; its labels are the question's tags, of the 500 that most posts have. One client is one user of one site",
		Kind: data.Vector, Input: "shares of 10,000 words", Classes: words.MostTags,
		Clients: "a site's users", Samples: "a site's sentences",
		Path:  "a Posts.xml, plain or .gz, a folder with one, or one of such folders, each named after its site",
		Vocab: words.Default, MaxVocab: words.MostInBags,
	}, Load: loadTags}
}

// thread is what a question says of its answers.
type thread struct{ title, tags []byte }

// threads are the questions by site and number.
type threads map[[2]string]thread

func loadTags(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
	files, err := postDumps(cfg.Path)
	if err != nil {
		return nil, nil, err
	}
	of, err := readThreads(ctx, files)
	if err != nil {
		return nil, nil, err
	}
	counts, tags := words.NewCount(), words.NewCount()
	sum, lost, err := readPosts(ctx, files, of, func(_ siteUser, t thread, sentences [][]byte) error {
		counts.Add(t.title)
		for _, s := range sentences {
			counts.Add(s)
		}
		tags.Add([]byte(strings.ReplaceAll(string(t.tags), "|", " ")))
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if counts.None() || tags.None() {
		return nil, nil, fmt.Errorf("%s: holds no text of a user with tags", cfg.Path)
	}
	bags, err := words.NewBags(counts.Frequent(cfg.Vocab), tags.Frequent(words.MostTags))
	if err != nil {
		return nil, nil, err
	}
	users := userTexts{budget: budget(files)}
	_, _, err = readPosts(ctx, files, of, func(u siteUser, t thread, sentences [][]byte) error {
		for _, s := range sentences {
			if err := users.add(u, func(all []uint16) []uint16 { return bags.Append(all, t.tags, s, t.title) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	fed := bags.Federation()
	fed.Notes = append(fed.Notes,
		fmt.Sprintf("%d posts of %d users; %d posts without a user, %d that are no question and no answer and %d answers whose question is not there are left out",
			sum.Texts-lost, len(users.of), sum.Anonymous, sum.Others, lost),
		fmt.Sprintf("the words are the %d and the tags the %d that all posts have most", bags.Words(), bags.Tags()))
	return fed, users.examples(func(all []uint16) data.View { return data.BagView(bags.Words(), bags.Tags(), all) }), nil
}

// postDumps finds the files of posts at a path.
func postDumps(path string) ([]dump, error) {
	files, err := dumps(path)
	if err != nil {
		return nil, err
	}
	posts := list.Where(files, func(f dump) bool { return !strings.HasPrefix(f.name(), "Comments") })
	if posts == nil {
		return nil, fmt.Errorf("%s: only comments, which have no tags; a Posts.xml has", path)
	}
	return posts, nil
}

// readThreads reads the titles and tags of all questions.
func readThreads(ctx context.Context, files []dump) (threads, error) {
	of, budget := threads{}, budget(files)
	for _, f := range files {
		_, err := readAll(ctx, f.path, func(p *Post) error {
			if p.ID == "" || p.Tags == "" {
				return nil
			}
			if err := budget.Take(int64(len(p.ID)+len(p.Title)+len(p.Tags)) + userSize); err != nil {
				return fmt.Errorf("the titles of all questions: %w", err)
			}
			of[[2]string{f.site, p.ID}] = threadOf(p)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return of, nil
}

// threadOf reads the title and the tags of a question.
func threadOf(p *Post) thread {
	var t thread
	Sentences(p.Title, false, func(s []byte) {
		if len(t.title) > 0 {
			t.title = append(t.title, ' ')
		}
		t.title = append(t.title, s...)
	})
	tags := strings.FieldsFunc(p.Tags, func(r rune) bool { return strings.ContainsRune("<>| ", r) })
	t.tags = []byte(strings.Join(tags, "|"))
	return t
}

// readPosts calls each with the sentences of every post with its question's title and
// tags; lost counts the answers without.
func readPosts(ctx context.Context, files []dump, of threads, each func(u siteUser, t thread, sentences [][]byte) error) (sum Counts, lost int, err error) {
	for _, f := range files {
		counts, err := Read(ctx, f.path, func(p *Post) error {
			id := p.ID
			if p.Parent != "" {
				id = p.Parent
			}
			t, there := of[[2]string{f.site, id}]
			if !there {
				lost++
				return nil
			}
			var sentences [][]byte
			Sentences(p.Text, p.IsHTML, func(s []byte) { sentences = append(sentences, append([]byte(nil), s...)) })
			return each(siteUser{f.site, p.User}, t, sentences)
		})
		if err != nil {
			return sum, lost, err
		}
		sum.add(counts)
	}
	return sum, lost, nil
}
