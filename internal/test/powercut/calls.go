package powercut

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// errUnknown says that the model lacks something that a program did.
var errUnknown = errors.New("the model knows no such call")

// call does what a call that succeeded did.
func (r *reader) call(c *call) error {
	if strings.HasPrefix(c.name, "rename") || strings.HasPrefix(c.name, "link") || strings.HasPrefix(c.name, "symlink") {
		return r.twoNames(c)
	}
	at := 0 // where the path stands
	if strings.HasSuffix(c.name, "at") {
		at = 1
	}
	switch c.name {
	case "open", "openat", "creat":
		return r.opened(c, at)
	case "mkdir", "mkdirat", "unlink", "unlinkat", "rmdir", "truncate":
		name, ok := r.path(c, at, at > 0)
		switch {
		case !ok:
		case c.name == "truncate":
			return errUnknown
		case strings.HasPrefix(c.name, "mkdir"):
			r.make(name, true)
		default:
			_, e := r.now.find(name)
			r.step(step{what: "removal of " + name, name: &naming{gone: e}})
		}
		return nil
	}
	return r.used(c)
}

// make makes a file or a folder and returns its node.
func (r *reader) make(name string, folder bool) int {
	_, e := r.now.find(name)
	r.nodes++
	made := r.nodes + 1 // the root is 1
	r.step(step{what: "making of " + name, name: &naming{made: e, node: made, folder: folder}})
	return made
}

// opened opens a file.
func (r *reader) opened(c *call, at int) error {
	delete(r.open, int(c.result))
	name, ok := r.path(c, at, at > 0)
	if !ok {
		return nil
	}
	flags := "O_CREAT|O_TRUNC"
	if c.name != "creat" {
		flags = c.args[at+1]
	}
	number, _ := r.now.find(name)
	if number == 0 {
		if !strings.Contains(flags, "O_CREAT") {
			return fmt.Errorf("%s was there before", name)
		}
		number = r.make(name, false)
	}
	if strings.Contains(flags, "O_TRUNC") && len(r.now.nodes[number].now) > 0 {
		r.step(step{what: "emptying of " + name, node: number, data: &change{}})
	}
	r.open[int(c.result)] = &handle{node: number, path: name, append: strings.Contains(flags, "O_APPEND")}
	return nil
}

// twoNames does a call that names two files.
func (r *reader) twoNames(c *call) error {
	from, to, folders := 0, 1, false
	if strings.Contains(c.name, "at") {
		from, to, folders = 1, 3, true
	}
	old, here := r.path(c, from, folders)
	name, there := r.path(c, to, folders)
	switch {
	case !here && !there:
		return nil
	case here != there || strings.HasPrefix(c.name, "symlink") || c.name == "renameat2" && len(c.args) > 4 &&
		c.args[4] != "0" && c.args[4] != "RENAME_NOREPLACE":
		return errUnknown
	}
	number, was := r.now.find(old)
	_, is := r.now.find(name)
	n := &naming{made: is, node: number}
	what := "link of "
	if strings.HasPrefix(c.name, "rename") {
		n.gone, what = was, "renaming of "
	}
	r.step(step{what: what + old + " to " + path.Base(name), name: n})
	return nil
}

// used does a call on an open file.
func (r *reader) used(c *call) error {
	h := r.open[c.number(0)]
	if h == nil {
		if strings.HasPrefix(c.name, "copy_file") && r.open[c.number(2)] != nil {
			return errUnknown
		}
		return nil
	}
	n := r.now.nodes[h.node]
	switch c.name {
	case "close":
		delete(r.open, c.number(0))
	case "lseek":
		h.at = c.result
	case "write", "pwrite64":
		data, err := c.bytes(1)
		if err != nil {
			return err
		}
		data = data[:c.result]
		at := h.at
		if c.name == "pwrite64" {
			if at, err = strconv.ParseInt(c.args[3], 10, 64); err != nil {
				return err
			}
		} else {
			if h.append {
				at = int64(len(n.now))
			}
			h.at = at + c.result
		}
		if len(data) > 0 {
			r.step(step{what: "write to " + h.path, node: h.node, data: &change{at: at, data: data}})
		}
	case "ftruncate":
		size, err := strconv.ParseInt(c.args[1], 10, 64)
		if err != nil {
			return err
		}
		r.step(step{what: "cut of " + h.path, node: h.node, data: &change{size: size}})
	case "fcntl":
		if strings.HasPrefix(c.args[1], "F_DUPFD") {
			return errUnknown
		}
	default:
		return errUnknown
	}
	return nil
}
