package data

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// lazyRows returns rows of the clients of a set that is read lazily: client c has
// sizes[c] rows of three ids, the second of which is c+1.
func lazyRows(sizes []int) *LazyRows {
	return NewLazyRows(2, 50, func(c int) ([]uint16, error) {
		var rows []uint16
		for i := range sizes[c] {
			rows = append(rows, uint16(i%9+1), uint16(c+1), uint16(i%7+1))
		}
		return rows, nil
	})
}

// Several goroutines that read many clients in different orders through a cache
// that holds few of them all see what one reader saw.
func TestLazyTogether(t *testing.T) {
	var sizes []int
	for c := range 40 {
		sizes = append(sizes, 5+c%7)
	}
	lazy := lazyRows(sizes)
	cache := lazy.cache
	cache.most = 3 * 2 * 3 * 8 // three clients or so
	read := func(c int) []int32 {
		v := lazy.View(c, sizes[c])
		pos := make([]int32, v.Len())
		for i := range pos {
			pos[i] = int32(i)
		}
		tokens, labels := make([]int32, 2*len(pos)), make([]int32, 2*len(pos))
		must(t, v.Fill(pos, nil, tokens, labels, nil))
		if labels[0] != int32(c+1) {
			t.Errorf("client %d has the label %d", c, labels[0])
		}
		return append(tokens, labels...)
	}
	var want [][]int32
	for c := range sizes {
		want = append(want, read(c))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 120 {
				c := (i*(2*g+1) + g) % len(sizes)
				if !slices.Equal(read(c), want[c]) {
					t.Errorf("client %d is read otherwise", c)
				}
			}
		})
	}
	wg.Wait()
	if cache.bytes > cache.most+2*3*16 || cache.used.Len() > 5 || cache.used.Len() != len(cache.known) {
		t.Errorf("the cache keeps %d bytes of %d clients (%d known)", cache.bytes, cache.used.Len(), len(cache.known))
	}
}

// What a set's function reads must be what its views say.
func TestLazyRowsAreChecked(t *testing.T) {
	for want, rows := range map[string][]uint16{
		"there is a token 50, must be in [0, 50)":   {1, 50, 3},
		"client number 4 has 2 tokens, must have 3": {1, 2},
		"client number 4 has 6 tokens, must have 3": {1, 2, 3, 4, 5, 6},
		"read samples: the file is gone":            nil,
	} {
		lazy := NewLazyRows(2, 50, func(int) ([]uint16, error) {
			if rows == nil {
				return nil, errors.New("the file is gone")
			}
			return rows, nil
		})
		var lost *ReadError
		if err := lazy.View(4, 1).Fill([]int32{0}, nil, make([]int32, 2), make([]int32, 2), nil); !errors.As(err, &lost) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, must be a ReadError with %q", err, want)
		}
	}
}

// closed counts how often it was closed.
type closed int

func (c *closed) Close() error { *c++; return nil }

// A set of a program's own can be lazy, as Stack Overflow is; its file is closed
// with the federation, or when that cannot be opened.
func TestOwnLazySet(t *testing.T) {
	sizes := []int{20, 30}
	var file closed
	err := Register(SetInfo{Name: "test-lazy", Kind: Tokens, Vocab: 50, MaxVocab: 60},
		func(_ context.Context, cfg Config) (*Federation, []Examples, error) {
			lazy := lazyRows(sizes)
			var all []Examples
			for c, n := range sizes {
				v := lazy.View(c, n)
				all = append(all, Examples{Client: strconv.Itoa(c), Train: v.Part(0, n-5), Test: v.Part(n-5, n)})
			}
			return &Federation{
				SeqLen: 2, Vocab: cfg.Vocab, Classes: cfg.Vocab, EveryStep: true,
				Lazy: true, File: &file,
			}, all, nil
		})
	must(t, err)
	fed := mustOpen(t, Config{Name: "test-lazy", Split: "files"})
	labels := make([]int32, 2)
	must(t, fed.Clients[1].Test.Fill([]int32{0}, nil, make([]int32, 2), labels, nil))
	if labels[0] != 2 || fed.Vocab != 50 || fed.Fingerprint == "" || len(fed.Clients) != 2 {
		t.Errorf("labels %v of %+v", labels, fed)
	}
	if must(t, fed.Close()); file != 1 {
		t.Errorf("closed %d times", file)
	}
	for want, cfg := range map[string]Config{
		"data.vocab = 61: must be at most 60": {Vocab: 61},
		"class labels to deal by":             {Partition: "iid"},
	} {
		cfg.Name, file = "test-lazy", 0
		if _, err := Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) ||
			(cfg.Vocab == 0 && file != 1) {
			t.Errorf("error %v, want %q; closed %d times", err, want, file)
		}
	}
}
