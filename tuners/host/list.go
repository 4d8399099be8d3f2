package host

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/tuners"
)

// Entry is one line of `fedfast tuner list`.
type Entry struct {
	Ref
	Description tuners.Description // what the tuner says of itself; empty when Skipped
	Skipped     string             // why it cannot be used, in one line; "" when it can
}

// List returns every tuner that the paths hold, by name, each started once to
// describe itself. A file that is hidden by an earlier one, that only looks like a
// tuner's, or a tuner that cannot be used, is listed with the reason.
func List(ctx context.Context, p Paths, o Options) []Entry {
	var entries []Entry
	used := map[string]string{}
	for _, a := range p.Attach {
		entries = append(entries, Entry{Ref: Ref{Name: a.Name, Path: a.String(), Attach: &a}})
		used[a.Name] = a.String()
	}
	seen := map[string]bool{}
	for _, dir := range p.Dirs {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		if seen[dir] {
			continue
		}
		seen[dir] = true
		names, odd := namesIn(dir)
		for _, name := range names {
			ref, err := external(dir, name)
			e := Entry{Ref: ref}
			switch {
			case err != nil:
				e.Ref = Ref{Name: name, Path: filepath.Join(dir, fileName(name))}
				e.Skipped = err.Error()
			case used[name] != "":
				e.Skipped = "hidden by " + used[name]
			default:
				used[name] = ref.Path
			}
			entries = append(entries, e)
		}
		for _, file := range odd {
			entries = append(entries, Entry{
				Ref:     Ref{Name: strings.TrimPrefix(file, Prefix), Path: filepath.Join(dir, file)},
				Skipped: "wrong name: " + fileName("NAME") + " is required, where NAME contains only lowercase letters, digits, - and _",
			})
		}
	}
	entries = append(entries, builtins(p, used)...)
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range entries {
		if entries[i].Skipped != "" {
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			entries[i].Description, entries[i].Skipped = describe(ctx, entries[i].Ref, o)
		})
	}
	all.Wait()
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries
}

// builtins lists the built-in tuners, which share a program; used holds external
// ones by name.
func builtins(p Paths, used map[string]string) []Entry {
	if len(p.Builtin) == 0 {
		return nil
	}
	sum, err := builtin.checksum(p.Serve[0])
	var entries []Entry
	for _, name := range p.Builtin {
		e := Entry{Ref: Ref{Name: name, Path: p.Serve[0], Args: append(slices.Clone(p.Serve[1:]), name), Builtin: true, SHA256: sum}}
		if used[name] != "" {
			e.Skipped = "replaced by " + used[name]
		} else if err != nil {
			e.Skipped = err.Error()
		}
		entries = append(entries, e)
	}
	return entries
}

// describe starts a tuner for its description.
func describe(ctx context.Context, ref Ref, o Options) (d tuners.Description, skipped string) {
	p, err := Launch(ctx, ref, o)
	if err != nil {
		return d, err.Error()
	}
	defer p.Close()
	if d, err = p.Describe(ctx); err != nil {
		return d, err.Error()
	}
	return d, ""
}

// namesIn returns the names of the tuners' files in a directory, in order, and the
// files that only begin like one. A directory that cannot be read has none.
func namesIn(dir string) (names, odd []string) {
	files, err := os.ReadDir(dir)
	if err != nil && len(files) == 0 {
		return nil, nil
	}
	for _, f := range files {
		if name, ok := nameOf(f.Name()); ok {
			names = append(names, name)
		} else if strings.HasPrefix(f.Name(), Prefix) {
			odd = append(odd, f.Name())
		}
	}
	return names, odd
}
