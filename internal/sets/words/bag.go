package words

import (
	"bytes"
	"slices"

	"github.com/fedfast/fedfast/data"
)

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
