package powercut

import "strings"

// step is one call that changed files or names, or that synced them. At most one of
// its parts is set.
type step struct {
	what   string // for people
	node   int    // of data, begins and ends
	data   *change
	name   *naming
	begins int // a sync of the node, by its number from 1
	ends   int // of the sync that has begun under the number
}

// change is a write, or with data nil a cut or an extension to a size.
type change struct {
	at   int64
	data []byte
	size int64
}

// apply returns content with the change made, in place where it can be.
func (c *change) apply(content []byte) []byte {
	size := max(int64(len(content)), c.at+int64(len(c.data)))
	if c.data == nil {
		size = c.size
	}
	if more := size - int64(len(content)); more > 0 {
		content = append(content, make([]byte, more)...)
	}
	content = content[:size]
	if c.data != nil {
		copy(content[c.at:], c.data)
	}
	return content
}

// halves parts a change in two.
func (c *change) halves() (first, second change) {
	half := len(c.data) / 2
	if half == 0 {
		return *c, *c
	}
	return change{at: c.at, data: c.data[:half]}, change{at: c.at + int64(half), data: c.data[half:]}
}

// entry is a name in a folder.
type entry struct {
	folder int
	name   string
}

// naming is a change of names that happens as one.
type naming struct {
	gone, made entry // without a name: none
	node       int   // that made names
	folder     bool  // the node is one
	durable    bool
}

// node is a file or a folder.
type node struct {
	durable, now []byte
	pending      []*change // from durable to now
	synced       int       // how many are in durable
	folder       bool
}

// disk is the model: the nodes, of which 1 is the root, and all changes of names.
type disk struct {
	nodes   map[int]*node
	namings []*naming
	names   map[entry]int // after all of namings
	begun   map[int]mark
}

// mark is how much had happened when a sync began.
type mark struct{ changes, namings int }

func newDisk() *disk {
	return &disk{nodes: map[int]*node{1: {folder: true}}, names: map[entry]int{}, begun: map[int]mark{}}
}

// play does a step.
func (d *disk) play(s step) {
	n := d.nodes[s.node]
	switch {
	case s.data != nil:
		n.now = s.data.apply(n.now)
		n.pending = append(n.pending, s.data)
	case s.name != nil:
		own := *s.name
		if d.nodes[own.node] == nil {
			d.nodes[own.node] = &node{folder: own.folder}
		}
		own.change(d.names)
		d.namings = append(d.namings, &own)
	case s.begins > 0:
		d.begun[s.begins] = mark{n.synced + len(n.pending), len(d.namings)}
	case s.ends > 0:
		d.sync(s.node, d.begun[s.ends])
	}
}

// change makes a change of names.
func (c *naming) change(names map[entry]int) {
	if c.gone.name != "" {
		delete(names, c.gone)
	}
	if c.made.name != "" {
		names[c.made] = c.node
	}
}

// in reports whether names of a folder change.
func (c *naming) in(folder int) bool {
	return c.gone.name != "" && c.gone.folder == folder || c.made.name != "" && c.made.folder == folder
}

// sync makes durable what had happened to a file or a folder.
func (d *disk) sync(number int, upTo mark) {
	n := d.nodes[number]
	if n.folder {
		for _, c := range d.namings[:upTo.namings] {
			c.durable = c.durable || c.in(number)
		}
		return
	}
	for len(n.pending) > 0 && n.synced < upTo.changes {
		n.durable = n.pending[0].apply(n.durable)
		n.pending = n.pending[1:]
		n.synced++
	}
}

// find returns the node of a clean path below the root, "" for that, and the entry
// that it is or, with node 0, would be.
func (d *disk) find(name string) (number int, at entry) {
	number = 1
	for part := range strings.SplitSeq(name, "/") {
		if part != "" {
			at = entry{number, part}
			number = d.names[at]
		}
	}
	return number, at
}
