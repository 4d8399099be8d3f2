package data

import (
	"container/list"
	"fmt"
	"sync"
)

// ReadError says that examples of a Lazy federation could not be read, see
// View.Fill.
type ReadError struct {
	err error
}

// Error returns what went wrong, with the file and the client.
func (e *ReadError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.err }

// maxCached bounds the bytes of clients' rows that are kept for the next use.
const maxCached = 64 << 20

// rowCache reads the examples of clients and keeps those used last. Its methods may
// be called from several goroutines; a client that several ask for at once is
// read once.
type rowCache struct {
	// load reads the examples of a client and returns the memory that they take, in
	// bytes. It may be called from several goroutines.
	load func(client int32) (s source, bytes int64, err error)
	most int64 // bytes to keep

	mu    sync.Mutex
	bytes int64
	used  list.List // of *cached, the one used last in front
	known map[int32]*list.Element
}

// cached is a client of a rowCache.
type cached struct {
	client int32
	once   sync.Once
	rows   source
	err    error
	needs  int64 // bytes
	bytes  int64 // counted in the cache
}

func newRowCache(most int64, load func(client int32) (source, int64, error)) *rowCache {
	return &rowCache{load: load, most: most, known: map[int32]*list.Element{}}
}

// get returns the examples of a client.
func (c *rowCache) get(client int32) (source, error) {
	c.mu.Lock()
	at := c.known[client]
	if at == nil {
		at = c.used.PushFront(&cached{client: client})
		c.known[client] = at
	} else {
		c.used.MoveToFront(at)
	}
	c.mu.Unlock()
	entry := at.Value.(*cached)
	entry.once.Do(func() {
		entry.rows, entry.needs, entry.err = c.load(client)
		c.count(at, entry)
	})
	return entry.rows, entry.err
}

// count adds what was read to the sum, and drops clients that were used long ago
// while that is too large. One that could not be read is dropped at once.
func (c *rowCache) count(at *list.Element, entry *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry.err != nil {
		c.drop(at)
		return
	}
	if c.known[entry.client] != at {
		return // dropped meanwhile
	}
	entry.bytes = entry.needs
	c.bytes += entry.bytes
	for c.bytes > c.most && c.used.Len() > 1 {
		c.drop(c.used.Back())
	}
}

// drop forgets an entry. Who has its rows keeps them.
func (c *rowCache) drop(at *list.Element) {
	entry := at.Value.(*cached)
	if c.known[entry.client] == at {
		delete(c.known, entry.client)
		c.used.Remove(at)
		c.bytes -= entry.bytes
	}
}

// LazyRows reads the examples of a Lazy federation's clients from a file, or draws
// them, when they are asked for, and keeps those used last.
type LazyRows struct {
	cache *rowCache
	lazy  func(lazyClient) source
	count func(source) int // of what a client has
	each  int              // of those in an example, 1 when 0
	unit  string           // what is counted
}

// NewLazyRows returns the reader of rows as StepView's: seq+1 token ids below vocab
// each. load reads all rows of a client; several goroutines call it at once.
func NewLazyRows(seq, vocab int, load func(client int) ([]uint16, error)) *LazyRows {
	return &LazyRows{
		lazy: func(c lazyClient) source { return &lazySequences{seq: seq, lazyClient: c} },
		cache: newRowCache(maxCached, func(client int32) (source, int64, error) {
			rows, err := load(int(client))
			if err != nil {
				return nil, 0, err
			}
			for _, id := range rows {
				if int(id) >= vocab {
					return nil, 0, fmt.Errorf("there is a token %d, must be in [0, %d)", id, vocab)
				}
			}
			return &tokenRows[uint16]{seq: seq, rows: rows}, int64(2 * cap(rows)), nil
		}),
		count: func(s source) int { return len(s.(*tokenRows[uint16]).rows) },
		each:  seq + 1,
		unit:  "tokens",
	}
}

// NewLazyVectors returns the reader of vectors of n floats with a class below classes
// each. load reads all those of a client; several goroutines call it at once.
func NewLazyVectors(n, classes int, load func(client int) (values []float32, labels []int32, err error)) *LazyRows {
	return &LazyRows{
		lazy: func(c lazyClient) source { return &lazyVectors{n: n, lazyClient: c} },
		cache: newRowCache(maxCached, func(client int32) (source, int64, error) {
			values, labels, err := load(int(client))
			if err != nil {
				return nil, 0, err
			}
			for _, l := range labels {
				if l < 0 || int(l) >= classes {
					return nil, 0, fmt.Errorf("there is a label %d, must be in [0, %d)", l, classes)
				}
			}
			if len(values) != n*len(labels) {
				return nil, 0, fmt.Errorf("there are %d numbers of %d samples, must be %d each", len(values), len(labels), n)
			}
			return &vectors{n: n, values: values, labels: labels}, int64(4*cap(values) + 4*cap(labels)), nil
		}),
		count: func(s source) int { return len(s.(*vectors).labels) },
		unit:  "samples",
	}
}

// View returns the n examples of a client, numbered as load knows it.
func (l *LazyRows) View(client, n int) View {
	return span(l.lazy(lazyClient{of: l, client: int32(client), n: int32(n)}), 0, n)
}

// lazyClient opens the examples of one client in a file.
type lazyClient struct {
	of        *LazyRows
	client, n int32
}

func (c *lazyClient) open() (source, error) {
	s, err := c.of.cache.get(c.client)
	if err == nil {
		if has, want := c.of.count(s), int(c.n)*max(1, c.of.each); has != want {
			err = fmt.Errorf("client number %d has %d %s, must have %d", c.client, has, c.of.unit, want)
		}
	}
	if err != nil {
		return nil, &ReadError{fmt.Errorf("read samples: %w", err)}
	}
	return s, nil
}

// lazySequences is the source of one client's rows in a file.
type lazySequences struct {
	seq int
	lazyClient
}

func (s *lazySequences) size() (floats, tokens int) { return 0, s.seq }

func (s *lazySequences) label(int32) int32 { panic(notOpened) }

func (s *lazySequences) read(int32, []float32, []int32, *Augment) int32 { panic(notOpened) }

// lazyVectors is the source of one client's vectors.
type lazyVectors struct {
	n int
	lazyClient
}

func (s *lazyVectors) size() (floats, tokens int) { return s.n, 0 }

func (s *lazyVectors) label(int32) int32 { panic(notOpened) }

func (s *lazyVectors) read(int32, []float32, []int32, *Augment) int32 { panic(notOpened) }

// notOpened is a mistake of the program: what reads single examples has not called
// opened.
const notOpened = "data: samples in a file are read before they are in memory"
