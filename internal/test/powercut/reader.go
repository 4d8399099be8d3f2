package powercut

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// handle is an open file or folder.
type handle struct {
	node   int
	at     int64
	append bool
	path   string
}

// reader turns the lines of strace into steps.
type reader struct {
	root  string
	open  map[int]*handle // of files below the root
	now   *disk           // after all steps
	nodes int             // that were made besides the root
	syncs int
	steps []step
}

// read reads all lines. A call during which another thread called comes in two.
func (r *reader) read(text string) error {
	halves := map[string]string{} // by thread
	began := map[string]step{}    // syncs
	for line := range strings.Lines(text) {
		thread, line, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		line = strings.TrimSpace(line)
		rest, last := strings.CutPrefix(line, "<... ")
		first := false
		if last {
			_, rest, _ = strings.Cut(rest, " resumed>")
			line = halves[thread] + rest
		} else if rest, first = strings.CutSuffix(line, "<unfinished ...>"); first {
			line = strings.TrimSpace(rest)
			halves[thread] = line
		}
		c, ok := parse(line)
		if !ok {
			continue
		}
		if c.name == "fsync" || c.name == "fdatasync" {
			if !last {
				began[thread] = r.begin(&c)
			}
			if s := began[thread]; !first && s.node != 0 && c.result == 0 {
				r.step(step{what: s.what, node: s.node, ends: s.begins})
			}
			continue
		}
		// The number of a file is free for another one once its close has begun;
		// everything else has happened when it has ended.
		if early := c.name == "close"; first && !early || last && early || c.result < 0 {
			continue
		}
		if err := r.call(&c); err != nil {
			return fmt.Errorf("strace wrote %.200q: %w", line, err)
		}
	}
	return nil
}

// begin begins a sync; that of a file elsewhere does not count.
func (r *reader) begin(c *call) step {
	h := r.open[c.number(0)]
	if h == nil {
		return step{}
	}
	r.syncs++
	s := step{what: "sync of " + h.path, node: h.node, begins: r.syncs}
	r.step(s)
	return s
}

// call is a line of strace.
type call struct {
	name   string
	args   []string
	result int64 // below 0 for an error
}

// parse reads a call, also the first half of one, whose result is then 0.
func parse(line string) (c call, ok bool) {
	name, rest, ok := strings.Cut(line, "(")
	if !ok || strings.ContainsAny(name, " +-<") {
		return c, false
	}
	c.name = name
	if end := strings.LastIndex(rest, ") "); end >= 0 {
		if _, result, ok := strings.Cut(rest[end:], "= "); ok {
			text, _, _ := strings.Cut(result, " ")
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				n = -1 // "?"
			}
			c.result = n
		}
		rest = rest[:end]
	}
	c.args = strings.Split(rest, ", ")
	return c, true
}

// number returns an argument that is a number, or -1.
func (c *call) number(i int) int {
	if i >= len(c.args) {
		return -1
	}
	n, err := strconv.Atoi(c.args[i])
	if err != nil {
		return -1
	}
	return n
}

// bytes returns an argument that is a string.
func (c *call) bytes(i int) ([]byte, error) {
	return hex.DecodeString(strings.ReplaceAll(strings.Trim(c.args[i], `"`), `\x`, ""))
}

// path returns the path below the root that an argument names, from the folder that
// the argument before names where folder is set; ok is false for one elsewhere.
func (r *reader) path(c *call, i int, folder bool) (name string, ok bool) {
	text, err := c.bytes(i)
	if err != nil {
		return "", false
	}
	full := string(text)
	if !filepath.IsAbs(full) {
		var h *handle
		if folder {
			h = r.open[c.number(i-1)]
		}
		if h == nil {
			return "", false
		}
		return strings.Trim(filepath.Clean("/"+h.path+"/"+full), "/"), true
	}
	name, ok = strings.CutPrefix(filepath.Clean(full)+"/", r.root+"/")
	return strings.TrimSuffix(name, "/"), ok
}

// step adds a step.
func (r *reader) step(s step) {
	r.steps = append(r.steps, s)
	r.now.play(s)
}
