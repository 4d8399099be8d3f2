package data

import (
	"errors"
	"fmt"
	"slices"
)

// A bag is an example of which only the shares of its words are known, with any
// number of labels. Bags lie one after the other as numbers of 16 bits: how many words
// it had, how many of them are known, how many labels it has, the known words,
// ascending and one as often as it was there, and the labels.
const bagHead = 3

// maxBag bounds the words of a bag: what is behind them is left out.
const maxBag = 1<<16 - 1

// AppendBag appends an example to bags, in the form that BagView and NewLazyBags read:
// words is the number of its words, known the numbers of those that have one. It sorts
// known.
func AppendBag(bags []uint16, words int, known, labels []uint16) []uint16 {
	if words > maxBag {
		words, known = maxBag, known[:min(maxBag, len(known))]
	}
	slices.Sort(known)
	bags = append(bags, uint16(words), uint16(len(known)), uint16(len(labels)))
	return append(append(bags, known...), labels...)
}

// BagView returns examples that are bags of words, made by AppendBag, each with any
// number of labels: vectors of words numbers, the share that each word has of an
// example's words, those without a number counted. It keeps the slice, which must not
// change.
func BagView(words, labels int, bags []uint16) View {
	s, err := newBags(words, labels, bags)
	if err != nil {
		panic("data: BagView: " + err.Error())
	}
	return span(s, 0, len(s.starts))
}

// bags is the source of bags.
type bags struct {
	bagForm
	numbers []uint16
	starts  []int32 // of the bags in numbers
}

// bagForm is the form of bags: how many words and labels there are.
type bagForm struct{ words, labels int }

func (f bagForm) size() (floats, tokens int) { return f.words, 0 }

func (f bagForm) kind() (Target, int) { return ManyLabels, f.labels }

func (f bagForm) label(int32) int32 { return 0 }

var errBag = errors.New("not a bag of words")

// newBags finds the bags among numbers.
func newBags(words, labels int, numbers []uint16) (*bags, error) {
	s := &bags{bagForm: bagForm{words, labels}, numbers: numbers}
	for at := 0; at < len(numbers); {
		if len(numbers)-at < bagHead {
			return nil, errBag
		}
		end := at + bagHead + int(numbers[at+1]) + int(numbers[at+2])
		if end > len(numbers) || numbers[at+1] > numbers[at] {
			return nil, errBag
		}
		s.starts = append(s.starts, int32(at))
		i := int32(len(s.starts) - 1)
		for _, w := range s.known(i) {
			if int(w) >= words {
				return nil, fmt.Errorf("sample %d has word %d, must be in [0, %d)", i, w, words)
			}
		}
		for _, l := range s.tags(i) {
			if int(l) >= labels {
				return nil, fmt.Errorf("sample %d has label %d, must be in [0, %d)", i, l, labels)
			}
		}
		at = end
	}
	return s, nil
}

// known returns the numbered words of a bag.
func (s *bags) known(at int32) []uint16 {
	bag := s.numbers[s.starts[at]:]
	return bag[bagHead:][:bag[1]]
}

// tags returns the labels of a bag.
func (s *bags) tags(at int32) []uint16 {
	bag := s.numbers[s.starts[at]:]
	return bag[bagHead+int(bag[1]):][:bag[2]]
}

func (s *bags) read(at int32, x []float32, _ []int32, _ *Augment) int32 {
	clear(x[:s.words])
	known, all := s.known(at), float32(s.numbers[s.starts[at]])
	for len(known) > 0 {
		n := 1
		for n < len(known) && known[n] == known[0] {
			n++
		}
		x[known[0]] = float32(n) / all
		known = known[n:]
	}
	return 0
}

func (s *bags) targets(at int32, dst []float32) {
	clear(dst[:s.labels])
	for _, l := range s.tags(at) {
		dst[l] = 1
	}
}

// NewLazyBags returns the reader of bags of a Lazy federation's clients, as BagView
// has them. load reads all bags of a client; several goroutines call it at once.
func NewLazyBags(words, labels int, load func(client int) ([]uint16, error)) *LazyRows {
	form := bagForm{words, labels}
	return &LazyRows{
		lazy: func(c lazyClient) source { return &lazyBags{bagForm: form, lazyClient: c} },
		cache: newRowCache(maxCached, func(client int32) (source, int64, error) {
			numbers, err := load(int(client))
			if err != nil {
				return nil, 0, err
			}
			s, err := newBags(words, labels, numbers)
			if err != nil {
				return nil, 0, err
			}
			return s, int64(2*cap(numbers) + 4*cap(s.starts)), nil
		}),
		count: func(s source) int { return len(s.(*bags).starts) },
		unit:  "samples",
	}
}

// lazyBags is the source of one client's bags in a file.
type lazyBags struct {
	bagForm
	lazyClient
}

func (s *lazyBags) read(int32, []float32, []int32, *Augment) int32 { panic(notOpened) }

func (s *lazyBags) targets(int32, []float32) { panic(notOpened) }
