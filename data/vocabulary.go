package data

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data/formats/gzfile"
)

// The form of next-word sets: sentences of sentenceLen words, and the ids that
// are not words.
const (
	sentenceLen  = 20
	defaultVocab = 10_000
	maxVocab     = 1<<16 - 1 - specialWords // ids are of 16 bits
	specialWords = 4                        // padding, others, begin, end
)

// vocabulary numbers words and what is none; the padding has id 0.
type vocabulary struct {
	ids               map[string]uint16
	other, begin, end uint16
}

// newVocabulary numbers the words, of which none may be there twice, as TFF does:
// the words from 1 on, then all other words, begin and end of a sentence.
// (TensorFlow Federated, baselines/stackoverflow/word_prediction_preprocessing.py)
func newVocabulary(words []string) (*vocabulary, error) {
	v, err := numberedFrom(1, words)
	if err == nil {
		n := uint16(len(words))
		v.other, v.begin, v.end = n+1, n+2, n+3
	}
	return v, err
}

// numberedFrom gives the words the ids from first on.
func numberedFrom(first int, words []string) (*vocabulary, error) {
	v := &vocabulary{ids: make(map[string]uint16, len(words))}
	for i, w := range words {
		if _, twice := v.ids[w]; twice {
			return nil, fmt.Errorf("word %q is there twice", w)
		}
		v.ids[w] = uint16(first + i)
	}
	if len(words) == 0 {
		return nil, errors.New("there are no words")
	}
	return v, nil
}

// size returns the number of ids.
func (v *vocabulary) size() int { return len(v.ids) + specialWords }

// masks returns the labels that TFF's accuracies leave out: words that the
// vocabulary lacks, and these and the end of a sentence.
func (v *vocabulary) masks() []Mask {
	return []Mask{
		{"no_oov", []int32{int32(v.other)}},
		{"no_oov_or_eos", []int32{int32(v.other), int32(v.end)}},
	}
}

// federation returns the federation without clients of sentences with these
// words.
func (v *vocabulary) federation() *Federation {
	return &Federation{SeqLen: sentenceLen, Vocab: v.size(), Classes: v.size(), EveryStep: true, Masks: v.masks()}
}

// appendSentence appends the row of a sentence, words with spaces between: its
// begin, the first sentenceLen words, its end if there is room, padding.
func (v *vocabulary) appendSentence(rows []uint16, text []byte) []uint16 {
	full := len(rows) + sentenceLen + 1
	rows = append(rows, v.begin)
	for word := range bytes.SplitSeq(text, []byte{' '}) {
		if len(rows) == full {
			break
		}
		if len(word) == 0 {
			continue
		}
		id, known := v.ids[string(word)]
		if !known {
			id = v.other
		}
		rows = append(rows, id)
	}
	if len(rows) < full {
		rows = append(rows, v.end)
	}
	for len(rows) < full {
		rows = append(rows, 0)
	}
	return rows
}

// maxWord bounds the bytes of a word that is counted: longer ones are no words.
const maxWord = 64

// wordCount counts words in bounded memory: when there are too many different
// ones, those seen least are forgotten.
type wordCount struct {
	counts    map[string]int
	most      int // different words
	forgotten bool
}

func newWordCount(most int) *wordCount {
	return &wordCount{counts: map[string]int{}, most: most}
}

// add counts the words of a sentence.
func (c *wordCount) add(text []byte) {
	for word := range bytes.SplitSeq(text, []byte{' '}) {
		if len(word) == 0 || len(word) > maxWord {
			continue
		}
		if n, known := c.counts[string(word)]; known {
			c.counts[string(word)] = n + 1
			continue
		}
		if len(c.counts) == c.most {
			c.forget()
		}
		c.counts[string(word)] = 1
	}
}

// forget drops the words seen least, at least half of all.
func (c *wordCount) forget() {
	c.forgotten = true
	for limit := 1; len(c.counts) > c.most/2; limit *= 2 {
		for w, n := range c.counts {
			if n <= limit {
				delete(c.counts, w)
			}
		}
	}
}

// frequent returns the n words counted most, of equal ones the first by bytes.
func (c *wordCount) frequent(n int) []string {
	words := make([]string, 0, len(c.counts))
	for w := range c.counts {
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.counts[b], c.counts[a]), cmp.Compare(a, b))
	})
	return slices.Clone(words[:min(n, len(words))])
}

// readWords reads the first n words of a file with a word and its count a line,
// as TFF's stackoverflow.word_count.
func readWords(path string, n int) (words []string, err error) {
	f, err := gzfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	for len(words) < n && lines.Scan() {
		parts := strings.Fields(lines.Text())
		if len(parts) != 2 {
			return nil, fmt.Errorf("%s: line %d is %.40q, must be a word and its count", path, len(words)+1, lines.Text())
		}
		words = append(words, parts[0])
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: line %d: %w", path, len(words)+1, err)
	}
	return words, nil
}
