package tff_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
	"github.com/fedfast/fedfast/internal/test/tfftest"
)

// sentence is a row of a file of Stack Overflow.
func sentence(split, client, text string) tfftest.Row {
	return tfftest.Row{Split: split, Client: client, Message: tfftest.Example(
		tfftest.Feature{Name: "tokens", Text: []byte(text)},
		tfftest.Feature{Name: "score", Ints: []int64{3}},
		tfftest.Feature{Name: "type", Text: []byte("answer")})}
}

// stackOverflow writes a file of the rows and the list of words, and returns
// their folder.
func stackOverflow(t testing.TB, words string, rows ...tfftest.Row) string {
	t.Helper()
	dir := t.TempDir()
	tfftest.Write(t, filepath.Join(dir, "stackoverflow.sqlite"), rows)
	if words != "" {
		if err := os.WriteFile(filepath.Join(dir, "stackoverflow.word_count"), []byte(words), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The ids are as in TFF: with 3 words, 4 is another word, 5 begins, 6 ends.
func TestStackOverflow(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat("the ", 25), " ")
	dir := stackOverflow(t, "the 9\nto 7\nuse 5\nnever 1\n",
		sentence("train", "12", "use the thing"), sentence("heldout", "77", "to"), sentence("train", "9", "to to"),
		sentence("train", "12", long), sentence("test", "12", ""), sentence("test", "500", "the"))
	fed, err := data.Open(t.Context(), data.Config{
		Name: "stackoverflow", Path: dir, Split: "100/0/files",
		MinSamples: 1, Unseen: true, Vocab: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	if fed.Vocab != 7 || fed.Classes != 7 || fed.SeqLen != 20 || !fed.EveryStep || !fed.Lazy || fed.Kind != data.Tokens {
		t.Errorf("the form is %+v", fed)
	}
	if want := []data.Mask{{Name: "no_oov", Labels: []int32{4}}, {Name: "no_oov_or_eos", Labels: []int32{
		4,
		6,
	}}}; fmt.Sprint(fed.Masks) != fmt.Sprint(want) {
		t.Errorf("masks %v, must be %v", fed.Masks, want)
	}
	var ids []string
	for _, c := range append(fed.Clients, fed.Unseen...) {
		ids = append(ids, fmt.Sprintf("%s %d %d %d", c.ID, c.Train.Len(), c.Val.Len(), c.Test.Len()))
	}
	if want := []string{"12 2 0 1", "9 1 0 0", "500 0 0 1", "heldout/77 0 0 1"}; !slices.Equal(ids, want) {
		t.Errorf("clients %q, must be %q", ids, want)
	}
	for _, tt := range []struct {
		view           data.View
		tokens, labels []int32 // their first ones, the rest is padding
	}{
		{fed.Clients[0].Train.Part(0, 1), []int32{5, 3, 1, 4, 6}, []int32{3, 1, 4, 6}},
		{
			fed.Clients[0].Train.Part(1, 2), append([]int32{5}, slices.Repeat([]int32{1}, 19)...),
			slices.Repeat([]int32{1}, 20),
		},
		{fed.Clients[0].Test, []int32{5, 6}, []int32{6}},
		{fed.Clients[1].Train, []int32{5, 2, 2, 6}, []int32{2, 2, 6}},
		{fed.Unseen[0].Test, []int32{5, 1, 6}, []int32{1, 6}},
		{fed.Unseen[1].Test, []int32{5, 2, 6}, []int32{2, 6}},
	} {
		tokens, labels := make([]int32, 20), make([]int32, 20)
		settest.Must(t, tt.view.Fill([]int32{0}, nil, tokens, labels, nil))
		wantTokens := append(slices.Clone(tt.tokens), make([]int32, 20-len(tt.tokens))...)
		wantLabels := append(slices.Clone(tt.labels), slices.Repeat([]int32{-1}, 20-len(tt.labels))...)
		if !slices.Equal(tokens, wantTokens) || !slices.Equal(labels, wantLabels) {
			t.Errorf("tokens %v\nlabels %v\nmust be\n%v\n%v", tokens, labels, wantTokens, wantLabels)
		}
	}
	if counts := settest.ClassCounts(t, fed.Clients[1].Train, 7); !slices.Equal(counts, []int{0, 0, 2, 0, 0, 0, 1}) {
		t.Errorf("labels %v", counts)
	}
	if s := settest.Summarize(t, fed); s.Clients != 2 || s.Train.Total != 3 || s.Classes != 0 {
		t.Errorf("summary %+v", s)
	}
}

// Without the list the words are counted, of equal counts the first by bytes.
func TestStackOverflowCounts(t *testing.T) {
	dir := stackOverflow(t, "", sentence("train", "a", "x b b c"), sentence("train", "a", "c a"),
		sentence("test", "a", "z z z z"), sentence("heldout", "b", "z"))
	fed, err := data.Open(t.Context(), data.Config{Name: "stackoverflow", Path: dir, MinSamples: 1, Vocab: 3})
	if err != nil {
		t.Fatal(err)
	}
	tokens, labels := make([]int32, 20), make([]int32, 20)
	settest.Must(t, fed.Clients[0].Train.Fill([]int32{0}, nil, tokens, labels, nil))
	if want := []int32{4, 1, 1, 2, 6}; !slices.Equal(labels[:5], want) { // b, c, a are 1, 2, 3
		t.Errorf("labels %v, must be %v", labels[:5], want)
	}
	if note := fed.Notes[0]; !strings.Contains(note, "the words are the 3 that the first 2 training samples have most") {
		t.Errorf("note %q", note)
	}
}

// Several goroutines that read many clients in different orders all see what one
// reader saw.
func TestStackOverflowTogether(t *testing.T) {
	var rows []tfftest.Row
	rows = append(rows, sentence("heldout", "x", "w1"), sentence("test", "c00", "w1"))
	for c := range 40 {
		for s := range 5 + c%7 {
			rows = append(rows, sentence("train", fmt.Sprintf("c%02d", c), fmt.Sprintf("w%d w%d w%d", c, s, c*s%11)))
		}
	}
	dir := stackOverflow(t, "", rows...)
	fed, err := data.Open(t.Context(), data.Config{
		Name: "stackoverflow", Path: dir, Split: "100/0/files",
		MinSamples: 1, IID: new(true), Seed: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func(c int) []int32 {
		v := fed.Clients[c].Train
		pos := make([]int32, v.Len())
		for i := range pos {
			pos[i] = int32(i)
		}
		tokens, labels := make([]int32, 20*len(pos)), make([]int32, 20*len(pos))
		settest.Must(t, v.Fill(pos, nil, tokens, labels, nil))
		return append(tokens, labels...)
	}
	var want [][]int32
	for c := range fed.Clients {
		want = append(want, read(c))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 120 {
				c := (i*(2*g+1) + g) % len(fed.Clients)
				if !slices.Equal(read(c), want[c]) {
					t.Errorf("client %d is read otherwise", c)
				}
			}
		})
	}
	wg.Wait()
}

func TestStackOverflowFails(t *testing.T) {
	base := []tfftest.Row{
		sentence("train", "a", "x"), sentence("train", "a", "y"), sentence("test", "a", "x"),
		sentence("heldout", "b", "x"),
	}
	for _, tt := range []struct {
		name  string
		words string
		sql   string
		want  string
	}{
		{
			"no index", "x 1\n", "DROP INDEX idx_examples_client_id; DROP INDEX idx_examples_client_id_split",
			"has no index to find the examples of a client; make one by the SQL: CREATE INDEX",
		},
		{"no split", "x 1\n", "DELETE FROM client_metadata WHERE split_name = 'heldout'", "has no split heldout"},
		{"absurd count", "x 1\n", "UPDATE client_metadata SET num_examples = 99999999999", "num_examples is 99999999999"},
		{"counted twice", "x 1\n", "INSERT INTO client_metadata VALUES ('a', 'train', 2)", "client_metadata counts it twice"},
		{
			"bad list", "x 1\nwhat is this\n", "",
			`stackoverflow.word_count: line 2 is "what is this", must be a word and its count`,
		},
		{"a word twice", "x 1\nx 1\n", "", `word "x" is there twice`},
		{"long line", strings.Repeat("x", 1<<20), "", "line 1: bufio.Scanner: token too long"},
		{"no words", " ", "", "must be a word and its count"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := stackOverflow(t, tt.words, base...)
			if tt.sql != "" {
				tfftest.Exec(t, filepath.Join(dir, "stackoverflow.sqlite"), strings.Split(tt.sql, "; ")...)
			}
			_, err := data.Open(t.Context(), data.Config{Name: "stackoverflow", Path: dir, MinSamples: 1})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v\nmust hold %q", err, tt.want)
			}
		})
	}
}

// What is wrong with a client's examples shows when they are read.
func TestStackOverflowReadFails(t *testing.T) {
	for _, tt := range []struct{ name, sql, want string }{
		{
			"fewer", "UPDATE client_metadata SET num_examples = 3 WHERE client_id = 'a' AND split_name = 'train'",
			`split train, client "a": 1 examples fewer than client_metadata says`,
		},
		{
			"more", "UPDATE client_metadata SET num_examples = 1 WHERE client_id = 'a' AND split_name = 'train'",
			`split train, client "a": more examples than client_metadata says`,
		},
		{
			"no example", "UPDATE examples SET serialized_example_proto = x'ff'",
			`split train, client "a": example 1: is no tf.train.Example`,
		},
		{
			"other kind", "UPDATE examples SET serialized_example_proto = x''",
			`split train, client "a": example 1: has no feature tokens`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := stackOverflow(t, "x 1\n", sentence("train", "a", "x"), sentence("train", "a", "y"),
				sentence("test", "a", "x"), sentence("heldout", "b", "x"))
			tfftest.Exec(t, filepath.Join(dir, "stackoverflow.sqlite"), tt.sql)
			fed, err := data.Open(t.Context(), data.Config{
				Name: "stackoverflow", Path: dir,
				Split: "100/0/files", MinSamples: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a failure is not kept as content
				var lost *data.ReadError
				err := fed.Clients[0].Train.Fill([]int32{0}, nil, make([]int32, 20), make([]int32, 20), nil)
				if !errors.As(err, &lost) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v\nmust be a ReadError with %q", err, tt.want)
				}
				if _, err := fed.Clients[0].Train.ClassCounts(fed.Classes); !errors.As(err, &lost) {
					t.Errorf("counting classes: error %v, must be a ReadError", err)
				}
				if _, err := data.ClassDistances(fed); !errors.As(err, &lost) {
					t.Errorf("comparing classes: error %v, must be a ReadError", err)
				}
				if err := fed.Clients[0].Train.Masked(fed.Masks[0]).Fill([]int32{0}, nil, make([]int32, 20), make([]int32, 20),
					nil); !errors.As(err, &lost) {
					t.Errorf("under a mask: error %v, must be a ReadError", err)
				}
			}
		})
	}
}
