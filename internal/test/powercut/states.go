package powercut

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// State is what a power cut may leave.
type State struct {
	// Cut numbers the cut of the power that leaves it, from 1.
	Cut int
	// When says after which call the power was cut, and what was lost.
	When  string
	files map[string][]byte // nil is a folder
}

// Write writes the files and folders into a folder.
func (s *State) Write(folder string) error {
	for name, content := range s.files {
		full := filepath.Join(folder, filepath.FromSlash(name))
		if content == nil {
			if err := os.MkdirAll(full, 0o755); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The ways in which contents that were not synced are lost.
var losses = []string{"whole", "lost", "zeros", "torn", "out of order"}

// content returns what is left of a file, never nil.
func (n *node) content(loss string) []byte {
	half := len(n.pending) / 2
	left := append(make([]byte, 0, len(n.now)), n.durable...)
	switch {
	case loss == "whole":
		return append(left[:0], n.now...)
	case len(n.pending) == 0 || loss == "lost":
	case loss == "zeros":
		left = (&change{size: int64(len(n.now))}).apply(left)
	default:
		some := n.pending[:half]
		middle, rest := n.pending[half].halves()
		if loss != "torn" {
			some, middle = n.pending[half+1:], rest
			left = middle.apply(left)
		}
		for _, c := range some {
			left = c.apply(left)
		}
		if loss == "torn" {
			left = middle.apply(left)
		}
	}
	return left
}

// EachCut returns some of the states: one of each cut, in turn of another kind.
func EachCut(states []State) []State {
	var some []State
	for len(states) > 0 {
		n := 1
		for n < len(states) && states[n].Cut == states[0].Cut {
			n++
		}
		some = append(some, states[len(some)%n])
		states = states[n:]
	}
	return some
}

// States returns the different states that a power cut may leave, in the order of
// when. Of the files that ignored says yes to all that was written is there, and
// writes to one file between which nothing else happened count as one.
func (l *Log) States(ignored func(name string) bool) []State {
	v := &variants{disk: newDisk(), ignored: ignored, seen: map[string]bool{}, contents: map[string][]byte{}}
	for i, s := range l.steps {
		v.disk.play(s)
		next := i + 1
		if s.ends > 0 || next < len(l.steps) && s.data != nil && l.steps[next].data != nil && l.steps[next].node == s.node {
			continue
		}
		v.add("after the " + s.what)
	}
	return v.all
}

// variants collects states.
type variants struct {
	disk     *disk
	ignored  func(string) bool
	seen     map[string]bool
	contents map[string][]byte
	cuts     int
	all      []State
}

// add adds the states that a cut now may leave.
func (v *variants) add(when string) {
	v.cuts++
	var pending []*naming
	folders := map[int]bool{}
	for _, c := range v.disk.namings {
		if !c.durable {
			pending = append(pending, c)
			folders[c.gone.folder], folders[c.made.folder] = true, true
		}
	}
	delete(folders, 0)
	for _, loss := range losses {
		v.state(when+", contents "+loss, loss, func(*naming) bool { return false })
	}
	for kept := range pending {
		for _, loss := range losses[:2] {
			v.state(fmt.Sprintf("%s, contents %s, the last %d changes of names lost", when, loss, len(pending)-kept), loss,
				func(c *naming) bool {
					return slices.Contains(pending[kept:], c)
				})
		}
	}
	if len(folders) < 2 {
		return
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		v.state(when+", changes of names in one folder lost", "whole", func(c *naming) bool {
			return !c.durable &&
				c.in(folder)
		})
	}
}

// state adds a state without some changes of names, unless it is there.
func (v *variants) state(when, loss string, lost func(*naming) bool) {
	names := map[entry]int{}
	for _, c := range v.disk.namings {
		if !lost(c) {
			c.change(names)
		}
	}
	below := map[int][]entry{}
	for e := range names {
		below[e.folder] = append(below[e.folder], e)
	}
	files := map[string][]byte{}
	var keys []string
	var walk func(folder int, path string)
	walk = func(folder int, path string) {
		for _, e := range below[folder] {
			n, name := v.disk.nodes[names[e]], path+e.name
			if n.folder {
				files[name], keys = nil, append(keys, name)
				walk(names[e], name+"/")
				continue
			}
			of := loss
			if len(n.pending) == 0 || v.ignored(name) {
				of = "whole"
			}
			key := fmt.Sprint(names[e], of, n.synced, len(n.pending))
			if v.contents[key] == nil {
				v.contents[key] = n.content(of)
			}
			files[name], keys = v.contents[key], append(keys, name+" "+key)
		}
	}
	walk(1, "")
	slices.Sort(keys)
	key := strings.Join(keys, "\n")
	if !v.seen[key] {
		v.seen[key] = true
		v.all = append(v.all, State{v.cuts, when, files})
	}
}
