// Package table holds the set of users' own tables, csv. A client column or the files say whose a row is;
// columns of numbers and categories become the inputs of a network, by what package data measures of them.
package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/deal"
	"github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// Sets returns the set of users' own tables.
func Sets() []data.Set {
	return []data.Set{{SetInfo: data.SetInfo{
		Name: "csv", Kind: data.Vector, Input: "inputs of its columns", OwnTest: true, Table: true,
		Doc: "your own tables in text form, with tabs, semicolons, | or commas between fields. data.label_column names " +
			"what to predict, data.client_column whose a row is; without it each of several files is a client. Columns are " +
			"numbers, dates (days since 1970) or categories (an input for each), by their values or data.columns",
		Clients: "by data.client_column, or one per file, else dealt",
		Samples: "as in the files",
		Path: "a file, a pattern such as \"sites/*.csv\", or a folder with .csv, .tsv, .data or .txt files, plain, .gz or " +
			".zst: names with the word test, of files or their folders, hold the test samples",
	}, Load: func(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
		t := &table{cfg: &cfg, fed: &data.Federation{H: 1, W: 1}, byName: map[string]*column{}, names: map[string]string{}}
		t.seen = map[string]bool{}
		if err := t.read(ctx); err != nil {
			return nil, nil, err
		}
		if err := cmp.Or(t.decide(), t.classes()); err != nil {
			return nil, nil, err
		}
		return t.examples()
	}}}
}

// table are the rows of files, those for training first.
type table struct {
	cfg     *data.Config
	fed     *data.Federation
	columns []*column
	byName  map[string]*column
	seen    map[string]bool // columns of all files
	label   *column
	clients []string          // of the rows; "" where no column and no file says whose they are
	names   map[string]string // of the clients, each once in memory
	train   int               // rows for training
}

func (t *table) note(format string, args ...any) {
	t.fed.Notes = append(t.fed.Notes, fmt.Sprintf(format, args...))
}

// list adds a note of names, if there are some.
func (t *table) list(text string, names []string) {
	if len(names) > 0 {
		t.note("%s%s", text, strings.ReplaceAll(oneline.Names(names), `"`, ""))
	}
}

// read reads all files.
func (t *table) read(ctx context.Context) error {
	train, test, left, err := own.Find(t.cfg.Path, ".csv", ".tsv", ".data", ".txt")
	if err != nil {
		return err
	}
	files, size := slices.Concat(train, test), int64(0)
	for _, list := range [][]string{left, test} {
		for i, path := range list {
			list[i] = strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(filepath.Clean(t.cfg.Path))+"/")
		}
	}
	t.list("files that are left out: ", left)
	t.list("files with test samples, by their names: ", test)
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	budget := memory.NewBudget(size)
	for i, path := range files {
		if err := t.file(ctx, path, budget, len(train) > 1, i >= len(train)); err != nil {
			return err
		}
		for _, c := range t.byName { // the file may lack it
			for len(c.values) < len(t.clients) {
				c.values = append(c.values, float32(math.NaN()))
			}
		}
		if i < len(train) {
			t.train = len(t.clients)
		}
	}
	return nil
}

// file reads a file, of one client where several have a file each.
func (t *table) file(ctx context.Context, path string, budget *memory.Budget, several, test bool) (err error) {
	f, err := openRows(t.cfg, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if f.note != "" && len(t.clients) == 0 {
		t.note("%s: %s", filepath.Base(path), f.note)
	}
	must := func(key, name string) error {
		if slices.Contains(f.names, name) {
			return nil
		}
		return fmt.Errorf("data.%s = %q: %s has no such column, but %s", key, name, path, oneline.Names(f.names))
	}
	if err := must("label_column", t.cfg.LabelColumn); err != nil {
		return err
	}
	l, names := t.cfg.LabelColumn, f.names
	if l == t.cfg.ClientColumn || slices.Contains(t.cfg.DropColumns, l) || slices.Contains(names, l+".1") {
		return fmt.Errorf("data.label_column = %q: must be one column of %s, not dropped, and not the clients'", l, path)
	}
	if err := must("client_column", t.cfg.ClientColumn); err != nil && t.cfg.ClientColumn != "" && !test {
		return err
	}
	columns := make([]*column, len(f.names))
	for i, name := range f.names {
		t.seen[name] = true
		if t.byName[name] == nil && name != t.cfg.ClientColumn && !slices.Contains(t.cfg.DropColumns, name) {
			c := &column{Column: data.Column{Name: name}, cfg: t.cfg, budget: budget, seen: map[string]float32{}}
			c.values = slices.Repeat([]float32{float32(math.NaN())}, len(t.clients))
			if t.byName[name] = c; name == t.cfg.LabelColumn {
				t.label = c
			} else {
				t.columns = append(t.columns, c)
			}
		}
		columns[i] = t.byName[name]
	}
	client, owner := "", slices.Index(f.names, t.cfg.ClientColumn)
	if base, _ := own.Base(path); several && t.cfg.ClientColumn == "" {
		client = cmp.Or(part.ReplaceAllString(base, ""), base)
		if own := t.names[client]; own != "" && own != filepath.Dir(path) && !test {
			return fmt.Errorf("%s and %s would both be client %s; rename the files, or name the clients in a column "+
				"(data.client_column)", own, filepath.Dir(path), oneline.Name(client))
		}
		t.names[client] = filepath.Dir(path)
	}
	return f.each(ctx, func(line int, values []string) error {
		if owner >= 0 {
			if own.IsMissing(values[owner]) {
				return fmt.Errorf("%s line %d: no client (data.client_column); leave such rows out", path, line)
			}
			if client = t.names[values[owner]]; client == "" {
				client = strings.Clone(values[owner])
				t.names[client] = client
			}
		}
		t.clients = append(t.clients, client)
		for i, c := range columns {
			if c != nil {
				if err := c.add(values[i], path, line); err != nil {
					return err
				}
			}
		}
		return budget.Take(int64(4*len(columns) + textSize))
	})
}

// part is a word of a name that says which part of a client's samples a file holds.
var part = regexp.MustCompile(`(?i)[-_. ](training|train|testing|test|validation|valid|val)$|` +
	`^(training|train|testing|test|validation|valid|val)[-_. ]`)

// decide chooses the types of the columns and says which they are.
func (t *table) decide() error {
	for _, name := range t.cfg.DropColumns {
		if !t.seen[name] {
			return fmt.Errorf("data.drop_columns: no column %s in %s; the columns are %s", oneline.Name(name), t.cfg.Path,
				oneline.Names(slices.Sorted(maps.Keys(t.seen))))
		}
	}
	for name := range t.cfg.Columns {
		if t.byName[name] == nil && !slices.Contains(t.cfg.DropColumns, name) {
			return fmt.Errorf("data.columns.%s: no such column, or that of clients", oneline.Name(name))
		}
	}
	var numbers, categories, doubts, empty, rows []string
	codes := map[float64][]string{}
	for _, c := range t.columns {
		if c.n == 0 {
			empty = append(empty, c.Name)
			continue
		}
		if err := c.decide(); err != nil {
			return err
		}
		if c.Values != nil {
			categories = append(categories, fmt.Sprintf("%s (%d)", c.Name, len(c.Values)))
			continue
		}
		if numbers = append(numbers, c.Name); c.counts() {
			rows = append(rows, c.Name)
		}
		if n := len(c.sorted()); t.cfg.Columns[c.Name] == nil && c.whole() && n > 2 && n <= fewNumbers && 4*n <= c.n {
			doubts = append(doubts, c.Name)
		}
		if x := c.code(); x != 0 {
			codes[x] = append(codes[x], c.Name)
		}
	}
	t.columns = slices.DeleteFunc(t.columns, func(c *column) bool { return c.n == 0 })
	if len(t.columns) == 0 {
		return fmt.Errorf("%s: there is no column with values beside data.label_column = %q", t.cfg.Path, t.label.Name)
	}
	t.list("columns taken for numbers: ", numbers)
	t.list("columns that number the rows, which data.drop_columns leaves out: ", rows)
	t.list("columns taken for categories (how many): ", categories)
	t.list(`numbers of few values, which data.columns = { NAME = "category" } makes categories: `, doubts)
	t.list("columns without any value are left out: ", empty)
	for _, x := range slices.Sorted(maps.Keys(codes)) {
		t.list(fmt.Sprintf(`%[1]v is far from other values; if it stands for none, data.missing = ["%[1]v"]: `, x), codes[x])
	}
	return nil
}

// classes makes classes of the values of the label, unless they are numbers to predict, and says which.
func (t *table) classes() error {
	c, name := t.label, oneline.Name(t.label.Name)
	if t.cfg.Positive != "" {
		t.fed.Classes = 2
		return t.positive()
	}
	given := t.cfg.Columns[c.Name]
	if given != nil && given != typeNumber && given != typeCategory {
		return fmt.Errorf("data.columns.%s = %q: the label's type must be number or category", name, given)
	}
	if given == typeNumber || given == nil && c.odd == "" && (c.many || !c.whole() || len(c.sorted()) > mostClasses) {
		t.fed.Target, t.fed.Classes = data.Numbers, 1
		t.note("label %s: numbers to predict; data.columns = { %[1]s = \"category\" } makes classes of them", name)
		return c.decide()
	}
	if err := c.categories(nil); err != nil {
		return err
	}
	t.fed.Classes, t.fed.ClassNames = len(c.Values), c.Values
	way := ""
	if len(c.Values) > 2 {
		way = fmt.Sprintf(" (data.positive, such as \"= %s\" or \"> %[1]s\", makes two of them)", c.Values[0])
	}
	if len(c.Values) == 2 {
		way = fmt.Sprintf(" (class 1, which F1 and PR AUC are about, is %s; see data.positive)", oneline.Name(c.Values[1]))
	}
	t.list(fmt.Sprintf("label %s: %d classes%s: ", name, len(c.Values), way), c.Values)
	return nil
}

// rule is what data.positive may be.
var rule = regexp.MustCompile(`^\s*(==?|!=|[<>]=?|)\s*([^\s=!<>].*?)\s*$`)

// positive makes class 1 of the labels of data.positive, and class 0 of the others.
func (t *table) positive() error {
	m, c := append(rule.FindStringSubmatch(t.cfg.Positive), "", "", "")[:3], t.label
	bound, numeric := number(m[2], "")
	switch ordered := strings.ContainsAny(m[1], "<>"); {
	case m[2] == "" || ordered && !numeric:
		return fmt.Errorf("data.positive = %q: must be an operator (=, !=, <, <=, >, >=) and a number, such as \"> 0\", or, "+
			"for = and !=, a text", t.cfg.Positive)
	case ordered && c.odd != "":
		return fmt.Errorf("data.positive = %q: label %q (%s) is no number", t.cfg.Positive, c.odd, c.at)
	case c.many && !numeric:
		return fmt.Errorf("data.positive = %q: no label is %q, all are numbers", t.cfg.Positive, m[2])
	}
	ones := 0
	for i, x := range c.values {
		order := cmp.Compare(x, float32(bound))
		if x == x && !c.many {
			if f := c.numbers[int(x)]; f == f && numeric {
				order = cmp.Compare(f, bound)
			} else {
				order = strings.Compare(c.texts[int(x)], m[2])
			}
		}
		is := map[string]bool{
			"": order == 0, "=": order == 0, "==": order == 0, "!=": order != 0,
			"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0,
		}
		if x != x {
			continue
		}
		if c.values[i] = 0; is[m[1]] {
			c.values[i] = 1
			ones++
		}
	}
	if ones == 0 || ones == c.n {
		return fmt.Errorf("data.positive = %q: %d of %d rows are class 1; the labels are %s", t.cfg.Positive, ones, c.n,
			oneline.Names(slices.Sorted(slices.Values(c.texts))))
	}
	t.note("label %s: %d of %d rows are class 1 (data.positive = %q)", oneline.Name(c.Name), ones, c.n, t.cfg.Positive)
	return nil
}

// examples returns the samples of the clients.
func (t *table) examples() (*data.Federation, []data.Examples, error) {
	drop := t.cfg.Impute == data.ImputeDrop
	columns, labels := make([][]float32, len(t.columns)), make([]int32, len(t.clients))
	for i, c := range t.columns {
		c.Gaps = c.Gaps && !drop
		columns[i], t.fed.Columns = c.values, append(t.fed.Columns, c.Column)
	}
	var kept []int32
	train, clients := 0, t.clients[:0]
	for row, x := range t.label.values {
		if x != x || drop && slices.ContainsFunc(columns, func(c []float32) bool { return c[row] != c[row] }) {
			continue
		}
		kept, clients = append(kept, int32(row)), append(clients, t.clients[row])
		if t.fed.Target != data.Numbers {
			labels[row] = int32(x)
		}
		if row < t.train {
			train = len(kept)
		}
	}
	n := len(kept)
	if train == 0 {
		return nil, nil, fmt.Errorf("%s: no row for training is left (data.impute = %q)", t.cfg.Path, t.cfg.Impute)
	}
	t.fed.C = len(columns)
	all := data.TableView(columns, labels)
	if t.fed.Target == data.Numbers {
		all = data.NumbersView(all, 1, t.label.values)
	}
	if n < len(labels) {
		t.note("%d of %d rows are left out: they have no label, or a missing value (data.impute = %q)",
			len(labels)-n, len(labels), t.cfg.Impute)
		all = all.Pick(kept)
	}
	central := train < n && clients[n-1] == ""
	named := slices.ContainsFunc(clients[train:], func(id string) bool { return id != "" })
	if named && slices.Contains(clients[train:], "") {
		return nil, nil, fmt.Errorf("%s: some files with test samples have the column %s (data.client_column) and "+
			"some have not", t.cfg.Path, oneline.Name(t.cfg.ClientColumn))
	}
	switch {
	case clients[0] == "" && t.cfg.Partition == "":
		columns := oneline.Names(slices.Sorted(maps.Keys(t.byName)))
		return nil, nil, fmt.Errorf("data.client_column is not set, and there is one file: set it (the columns are %s), "+
			"or have the samples dealt, such as with data.partition = %q", columns, deal.WayIID)
	case clients[0] == "":
		return t.fed, []data.Examples{{Train: all.Part(0, train), Test: all.Part(train, n), Pooled: true}}, nil
	case central:
		test := data.Examples{Test: all.Part(train, n), Central: true}
		return t.fed, append(byClient(all.Part(0, train), clients[:train], train), test), nil
	}
	return t.fed, byClient(all, clients, train), nil
}

// byClient returns the samples of the clients, who are sorted by their numbers if all have one.
func byClient(all data.View, clients []string, train int) []data.Examples {
	named := func(id string) bool { _, err := strconv.ParseInt(id, 10, 64); return err != nil }
	return data.ByClient(all, clients, train, !slices.ContainsFunc(clients, named))
}
