// Package words numbers the words of sentences for sets of which a model learns the
// next word.
package words

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/gzfile"
)

// The form of the sets: sentences of SentenceLen words, the number of words unless
// data.vocab says it, the largest one, and the number of ids that are not words.
const (
	SentenceLen = 20
	Default     = 10_000
	Most        = 1<<16 - 1 - Special // ids are of 16 bits
	Special     = 4                   // padding, others, begin, end
)

// Vocabulary gives ids to words. One made by New also has ids for padding, which is 0,
// for all other words, and for the begin and the end of a sentence.
type Vocabulary struct {
	ids               map[string]uint16
	other, begin, end uint16
}

// New numbers the words, of which none may be there twice, as TFF does:
// the words from 1 on, then all other words, begin and end of a sentence.
// (TensorFlow Federated, baselines/stackoverflow/word_prediction_preprocessing.py)
func New(words []string) (*Vocabulary, error) {
	v, err := numberedFrom(1, words)
	if err == nil {
		n := uint16(len(words))
		v.other, v.begin, v.end = n+1, n+2, n+3
	}
	return v, err
}

// numberedFrom gives the words the ids from first on.
func numberedFrom(first int, words []string) (*Vocabulary, error) {
	v := &Vocabulary{ids: make(map[string]uint16, len(words))}
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

// Words returns the number of words.
func (v *Vocabulary) Words() int { return len(v.ids) }

// size returns the number of ids.
func (v *Vocabulary) size() int { return len(v.ids) + Special }

// masks returns the labels that TFF's accuracies leave out: words that the
// vocabulary lacks, and these and the end of a sentence.
func (v *Vocabulary) masks() []data.Mask {
	return []data.Mask{
		{Name: "no_oov", Labels: []int32{int32(v.other)}},
		{Name: "no_oov_or_eos", Labels: []int32{int32(v.other), int32(v.end)}},
	}
}

// Federation returns the federation without clients of sentences with these
// words.
func (v *Vocabulary) Federation() *data.Federation {
	return &data.Federation{SeqLen: SentenceLen, Vocab: v.size(), Classes: v.size(), EveryStep: true, Masks: v.masks()}
}

// AppendSentence appends the row of a sentence, words with spaces between: its
// begin, the first SentenceLen words, its end if there is room, padding.
func (v *Vocabulary) AppendSentence(rows []uint16, text []byte) []uint16 {
	full := len(rows) + SentenceLen + 1
	rows = v.appendWords(append(rows, v.begin), text, full)
	if len(rows) < full {
		rows = append(rows, v.end)
	}
	return append(rows, make([]uint16, full-len(rows))...)
}

// Read reads the first n words of a file with a word and its count a line,
// as TFF's stackoverflow.word_count.
func Read(path string, n int) (words []string, err error) {
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

// MostTags is the largest number of tags of a set: the most frequent ones, or all of
// them where there are fewer.
const MostTags = 500

// MostInBags is the largest number of words that bags have: ids are of 16 bits.
const MostInBags = 1<<16 - 1

// Bags numbers the words and the tags of texts of which a model learns the tags by
// the shares of their words, as TFF does
// (TensorFlow Federated, baselines/stackoverflow/tag_prediction_preprocessing.py).
type Bags struct{ words, tags *Vocabulary }

// NewBags numbers words and tags, of which none may be there twice, from 0 on.
func NewBags(words, tags []string) (*Bags, error) {
	w, err := numberedFrom(0, words)
	if err != nil {
		return nil, err
	}
	t, err := numberedFrom(0, tags)
	if err != nil {
		return nil, err
	}
	return &Bags{w, t}, nil
}

// Words returns the number of words.
func (b *Bags) Words() int { return b.words.Words() }

// Tags returns the number of tags.
func (b *Bags) Tags() int { return b.tags.Words() }

// Federation returns the federation without clients of such texts.
func (b *Bags) Federation() *data.Federation {
	return &data.Federation{H: 1, W: 1, C: b.Words(), Classes: b.Tags(), Target: data.ManyLabels}
}

// Append appends the bag of a text in parts, words with spaces between, and its tags
// with | between. Words without a number count in the length of the text, tags
// without one are left out.
func (b *Bags) Append(bags []uint16, tags []byte, text ...[]byte) []uint16 {
	var known, labels []uint16
	n := 0
	for _, part := range text {
		for w := range bytes.SplitSeq(part, []byte{' '}) {
			if len(w) == 0 {
				continue
			}
			n++
			if id, ok := b.words.ids[string(w)]; ok {
				known = append(known, id)
			}
		}
	}
	for t := range bytes.SplitSeq(tags, []byte{'|'}) {
		if id, ok := b.tags.ids[string(t)]; ok && !slices.Contains(labels, id) {
			labels = append(labels, id)
		}
	}
	return data.AppendBag(bags, n, known, labels)
}

// Counted bounds the different words that a Count has in memory.
const Counted = 2_000_000

// maxWord bounds the bytes of a word that is counted: longer ones are no words.
const maxWord = 64

// Count counts words in bounded memory: when there are too many different
// ones, those seen least are forgotten.
type Count struct {
	counts    map[string]int
	most      int // different words
	forgotten bool
}

// NewCount returns a count of no words.
func NewCount() *Count { return &Count{counts: map[string]int{}, most: Counted} }

// None says that no word was counted.
func (c *Count) None() bool { return len(c.counts) == 0 }

// Forgotten says that there were more than Counted different words.
func (c *Count) Forgotten() bool { return c.forgotten }

// Add counts the words of a sentence.
func (c *Count) Add(text []byte) {
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
func (c *Count) forget() {
	c.forgotten = true
	for limit := 1; len(c.counts) > c.most/2; limit *= 2 {
		for w, n := range c.counts {
			if n <= limit {
				delete(c.counts, w)
			}
		}
	}
}

// Frequent returns the n words counted most, of equal ones the first by bytes.
func (c *Count) Frequent(n int) []string {
	words := make([]string, 0, len(c.counts))
	for w := range c.counts {
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.counts[b], c.counts[a]), cmp.Compare(a, b))
	})
	return slices.Clone(words[:min(n, len(words))])
}

// Line returns the words of a text in lower case, with spaces between. A word is a run
// of letters, digits, underscores and apostrophes, or one of .,!?; as in LEAF's
// split_line, or with symbols one such as an emoji.
func Line(text []byte, symbols bool) []byte {
	line := make([]byte, 0, len(text))
	within := false // a word
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		r = unicode.ToLower(r)
		if symbols && r == '\ufe0f' {
			continue // of an emoji
		}
		part := r == '_' || r == '\'' || unicode.In(r, unicode.L, unicode.N, unicode.M)
		sign := symbols && !part && r != utf8.RuneError && unicode.Is(unicode.So, r)
		if !part && !sign && !strings.ContainsRune(".,!?;", r) {
			within = false
			continue
		}
		if (!part || !within) && len(line) > 0 {
			line = append(line, ' ')
		}
		line, within = utf8.AppendRune(line, r), part
	}
	return line
}

// unspaced are the scripts that are written without spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// isUnspaced reports whether a letter is of one of these scripts, of which Thai comes first.
func isUnspaced(r rune) bool { return r >= '\u0e00' && unicode.In(r, unspaced...) }

// Apart puts spaces around each letter, with its marks, of scripts that are written
// without them, so that these letters are words.
func Apart(text []byte) []byte {
	if !bytes.ContainsFunc(text, isUnspaced) {
		return text
	}
	var out []byte
	within := false // a letter of such a script
	for _, r := range string(text) {
		if !unicode.Is(unicode.M, r) {
			now := isUnspaced(r) || r == 'ー' && within
			if now || within {
				out = append(out, ' ')
			}
			within = now
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// TextSize returns the number of ids of AppendText: the padding, the words, others.
func (v *Vocabulary) TextSize() int { return int(v.other) + 1 }

// AppendText appends the row of a text, words with spaces between: the first n words,
// then padding.
func (v *Vocabulary) AppendText(rows []uint16, text []byte, n int) []uint16 {
	full := len(rows) + n
	rows = v.appendWords(rows, text, full)
	return append(rows, make([]uint16, full-len(rows))...)
}

// appendWords appends words with spaces between, until there are full ids.
func (v *Vocabulary) appendWords(rows []uint16, text []byte, full int) []uint16 {
	for w := range bytes.SplitSeq(text, []byte{' '}) {
		if len(rows) == full {
			break
		}
		if len(w) == 0 {
			continue
		}
		id, known := v.ids[string(w)]
		if !known {
			id = v.other
		}
		rows = append(rows, id)
	}
	return rows
}
