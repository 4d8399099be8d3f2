// Package table holds the sets of users' own tables, csv and parquet-columns. A client column or the files say whose
// a row is; columns of numbers and categories become the inputs of a network, by what package data measures of them.
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
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sets/own"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// kind is a kind of files of tables: their endings, what a row and what such a file is called, and what opens them.
type kind struct {
	endings []string
	row     string
	such    string
	open    func(*data.Config, string) (source, error)
}

// ofText are the endings of tables in text form.
var ofText = []string{".csv", ".tsv", ".data", ".txt"}

// IsText reports whether the name of a file, packed or not, names a table in text form.
func IsText(path string) bool {
	_, ending := own.Base(path)
	return slices.Contains(ofText, ending)
}

// Sets returns the sets of users' own tables.
func Sets() []data.Set {
	set := func(name, form, files string, k kind) data.Set {
		return data.Set{SetInfo: data.SetInfo{
			Name: name, Kind: data.Vector, Input: "inputs of its columns", OwnTest: true, Table: true,
			Doc: "your own tables " + form + ". data.label_column names what to predict, data.client_column whose a row is; " +
				"without it each of several files is a client. Columns are numbers, dates (days since 1970) or " +
				"categories (an input for each), by their values or data.columns",
			Clients: "by data.client_column, or one per file, else dealt",
			Samples: "as in the files",
			Path: "a file, several with commas between, a pattern such as \"sites/*" + k.endings[0] + "\", or a folder with " +
				files +
				": names with the word test, of files or their folders, hold the test samples",
		}, Load: func(ctx context.Context, cfg data.Config) (*data.Federation, []data.Examples, error) {
			t := &table{cfg: &cfg, kind: k, fed: &data.Federation{H: 1, W: 1}, byName: map[string]*column{}}
			t.names, t.seen = map[string]string{}, map[string]bool{}
			if err := t.read(ctx); err != nil {
				return nil, nil, err
			}
			if err := cmp.Or(t.decide(), t.classes()); err != nil {
				return nil, nil, err
			}
			return t.examples()
		}}
	}
	return []data.Set{
		set("csv", "in text form, with tabs, semicolons, | or commas between fields",
			".csv, .tsv, .data or .txt files, plain, .gz or .zst",
			kind{ofText, "line", "packed by gzip", openRows}),
		set("parquet-columns", "in Parquet's format, a row a sample, as DataFrame.to_parquet saves them", ".parquet files",
			kind{[]string{".parquet", ".pq"}, "row", "Parquet", openParquet}),
	}
}

// table are the rows of files, those for training first.
type table struct {
	cfg     *data.Config
	kind    kind
	fed     *data.Federation
	columns []*column
	byName  map[string]*column
	seen    map[string]bool // columns of all files
	label   *column
	clients []string          // of the rows; "" where no column and no file says whose they are
	names   map[string]string // of the clients, each once in memory
	train   int               // rows for training
	decoded []string          // files in data.charset
	bare    []string          // files without rows
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
	train, test, notes, err := own.Find(t.cfg.Path, t.kind.endings...)
	if err != nil {
		return err
	}
	files, size := slices.Concat(train, test), int64(0)
	t.fed.Notes = notes
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			size += info.Size()
		}
	}
	budget := memory.NewBudget(size)
	for i, path := range files {
		rows := len(t.clients)
		if err := t.file(ctx, path, budget, len(train) > 1, i >= len(train)); err != nil {
			return err
		}
		if len(t.clients) == rows {
			t.bare = append(t.bare, filepath.Base(path))
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
	t.list(fmt.Sprintf("files that are not UTF-8, read as data.charset = %q: ", t.cfg.Charset), t.decoded)
	t.list("files without rows: ", t.bare)
	return nil
}

// file reads a file, of one client where several have a file each.
func (t *table) file(ctx context.Context, path string, budget *memory.Budget, several, test bool) (err error) {
	f, err := t.kind.open(t.cfg, path)
	if err != nil {
		return own.Instead(path, t.kind.such, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	names, note := f.columns()
	if note != "" && len(t.clients) == 0 {
		t.note("%s: %s", filepath.Base(path), note)
	}
	text, isText := f.(*rows)
	label, owner := slices.Index(names, t.cfg.LabelColumn), slices.Index(names, t.cfg.ClientColumn)
	l, client, missing := t.cfg.LabelColumn, "", []string{}
	lacks := func(key, name string) {
		if missing = append(missing, fmt.Sprintf("%s = %q is no column", key, name)); name == "" {
			missing[len(missing)-1] = key + " is not set"
		}
	}
	if label < 0 {
		lacks("data.label_column", l)
	}
	pooled := owner < 0 && t.cfg.ClientColumn == "" && t.cfg.Partition == "" && !several && !test
	if owner < 0 && t.cfg.ClientColumn != "" && !test || pooled && l == "" {
		lacks("data.client_column", t.cfg.ClientColumn)
	}
	if len(missing) > 0 {
		if n := len(names); n > 10 { // labels are often the last
			names = slices.Concat(names[:5], []string{"..."}, names[n-4:])
		}
		err := fmt.Errorf("%s; the columns of %s are %s", strings.Join(missing, ", "), path, oneline.Names(names))
		if note != "" {
			err = fmt.Errorf("%w: %s", err, note)
		}
		if len(names) == 1 && isText {
			err = fmt.Errorf("%w: its first row has one field; set data.delimiter, or leave out lines before the names", err)
		}
		return own.Instead(path, t.kind.such, err)
	}
	if label == owner || slices.Contains(t.cfg.DropColumns, l) || slices.Contains(names, l+".1") {
		return fmt.Errorf("data.label_column = %q: must be one column of %s, not dropped, and not the clients'", l, path)
	}
	if owner >= 0 && slices.Contains(names, t.cfg.ClientColumn+".1") {
		return fmt.Errorf("data.client_column = %q: %s has several such columns; give each its own name",
			t.cfg.ClientColumn, path)
	}
	if pooled {
		return fmt.Errorf("data.client_column is not set, and there is one file: set it (the columns are %s), or have the "+
			"samples dealt, such as with data.partition = %q", oneline.Names(names), deal.WayIID)
	}
	columns, read := make([]*column, len(names)), make([]bool, len(names))
	if isText && text.decoded {
		t.decoded = append(t.decoded, filepath.Base(path))
	}
	for i, name := range names {
		t.seen[name] = true
		dropped := slices.Contains(t.cfg.DropColumns, name) || strings.HasPrefix(name, "__index_level_") // of pandas
		if t.byName[name] == nil && name != t.cfg.ClientColumn && !dropped {
			c := &column{Column: data.Column{Name: name}, cfg: t.cfg, budget: budget, row: t.kind.row}
			c.seen = map[string]float32{}
			c.values = slices.Repeat([]float32{float32(math.NaN())}, len(t.clients))
			if t.byName[name] = c; name == t.cfg.LabelColumn {
				t.label = c
			} else {
				t.columns = append(t.columns, c)
			}
		}
		if columns[i] = t.byName[name]; columns[i] != nil && isText {
			columns[i].delimiter = text.csv.Comma
		}
		read[i] = columns[i] != nil || i == owner
	}
	if several && t.cfg.ClientColumn == "" {
		client = own.Client(path)
		if own := t.names[client]; own != "" && own != filepath.Dir(path) && !test {
			return fmt.Errorf("%s and %s would both be client %s; rename the files, or name the clients in a column "+
				"(data.client_column)", own, filepath.Dir(path), oneline.Name(client))
		}
		t.names[client] = filepath.Dir(path)
	}
	return f.each(ctx, read, func(i, line int, text string, x float64) error {
		if i == owner {
			if text == "" && x == x {
				text, err = own.Whole(names[i], x, own.Exact)
			} else if t.names[text] == "" && rounded.MatchString(text) {
				if x, _ = strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64); math.Abs(x) >= own.Exact {
					_, err = own.Whole(names[i], x, own.Exact)
				}
			}
			if err != nil {
				return fmt.Errorf("%s %s %d: %w", path, t.kind.row, line, err)
			}
			if own.IsMissing(text) {
				return fmt.Errorf("%s %s %d: no client, but %q (data.client_column); leave such rows out, or write a name",
					path, t.kind.row, line, text)
			}
			if client = t.names[text]; client == "" {
				client = strings.Clone(text)
				t.names[client] = client
			}
		}
		if i == owner || i == label && owner < 0 {
			t.clients = append(t.clients, client)
			if err := budget.Take(int64(4*len(columns) + textSize)); err != nil {
				return err
			}
		}
		if columns[i] == nil {
			return nil
		}
		return columns[i].add(text, x, path, line)
	})
}

// rounded is a float as pandas and spreadsheets write it in place of an integer.
var rounded = regexp.MustCompile(`^[-+]?\d+([.,]\d*|[.,]\d+[eE]\+?\d+|[eE]\+\d+)$`)

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
	named := func(of []*column) []string { return list.Of(of, func(c *column) string { return c.Name }) }
	empty := list.Where(t.columns, func(c *column) bool { return c.n == 0 })
	t.columns = list.Where(t.columns, func(c *column) bool { return c.n > 0 })
	if len(t.columns) == 0 {
		return fmt.Errorf("%s: there is no column with values beside data.label_column = %q", t.cfg.Path, t.label.Name)
	}
	for _, c := range t.columns {
		if err := cmp.Or(c.decide(), c.rounded()); err != nil {
			return err
		}
	}
	numbers := list.Where(t.columns, func(c *column) bool { return c.Values == nil })
	free := list.Where(numbers, func(c *column) bool { return t.cfg.Columns[c.Name] == nil }) // whose type is not given
	tell := func(of []*column, is func(c *column) bool, text string) { t.list(text, named(list.Where(of, is))) }
	t.list("columns taken for numbers: ", named(numbers))
	for i, f := range forms {
		tell(numbers, func(c *column) bool { return c.form == i && i != formPlain }, fmt.Sprintf("of them %s: ", f.says))
		tell(free, func(c *column) bool { return c.form == i && c.doubt }, fmt.Sprintf("no day above 12 tells the order of "+
			"day and month; data.columns = { NAME = %q } takes the other: ", forms[min(i^1, formCompact)].kind))
	}
	tell(free, (*column).compact,
		`numbers that are dates, such as 20250131, if data.columns = { NAME = "date YMD" } says so: `)
	rows := named(list.Where(numbers, func(c *column) bool { return c.counts(len(t.names)) }))
	if len(rows) > 0 {
		t.note("columns that number the rows; to leave them out, data.drop_columns = [%s]",
			strings.Join(list.Of(rows, strconv.Quote), ", "))
	}
	tell(t.columns, (*column).constant, "columns of one value, which tell nothing: ")
	categories := list.Where(t.columns, func(c *column) bool { return c.Values != nil })
	t.list("columns taken for categories (how many): ", list.Of(categories, func(c *column) string {
		return fmt.Sprintf("%s (%d)", c.Name, len(c.Values))
	}))
	tell(categories, func(c *column) bool { return own.Alike("", c.Values) != nil },
		"categories of which some differ only in capitals, spaces, zeros or the encoding of accents: ")
	tell(t.columns, func(c *column) bool { return own.Splits(c.Name, c.Values) },
		"columns that seem to say which rows are for testing, and are inputs as others are; save these rows in a file "+
			"whose name has the word test, and drop the column (data.drop_columns): ")
	figures := list.Where(categories, (*column).figures)
	t.list("categories with digits in each; numbers or dates are read as 1234.5 or 2026-01-31: ",
		list.Of(figures, func(c *column) string { return c.Name + " (" + c.texts[0] + ")" }))
	tell(free, (*column).few, `numbers of few values, which data.columns = { NAME = "category" } makes categories: `)
	tell(free, (*column).coded,
		`numbers with zeros before them, which data.columns = { NAME = "category" } makes categories: `)
	t.list("columns without any value are left out: ", named(empty))
	for _, x := range slices.Compact(slices.Sorted(slices.Values(list.Of(numbers, (*column).code)))) {
		if x != "" {
			tell(numbers, func(c *column) bool { return c.code() == x }, fmt.Sprintf(
				`%[1]s is far from other values; if it stands for none, data.missing = ["%[1]s"]: `, x))
		}
	}
	return nil
}

// classes makes classes of the values of the label, unless they are numbers to predict, and says which.
func (t *table) classes() error {
	c, name := t.label, oneline.Name(t.label.Name)
	c.settle()
	if err := c.agree(); err != nil {
		return err
	}
	if t.cfg.Positive != "" {
		t.fed.Classes = 2
		return t.positive()
	}
	given := t.cfg.Columns[c.Name]
	if given != nil && given != typeNumber && given != typeCategory {
		return fmt.Errorf("data.columns.%s = %q: the label's type must be number or category", name, given)
	}
	amounts := given == nil && (c.many || !c.whole() || len(c.sorted()) > mostClasses)
	if amounts && c.odd != "" {
		if err := c.mostly(); err != nil {
			return err
		}
	}
	if x := c.code(); x != "" && x != "-1" {
		t.note(`label %s: %s may stand for no value; data.missing = ["%[2]s"] leaves its rows out`, name, x)
	}
	if given == typeNumber || amounts && c.odd == "" {
		t.fed.Target, t.fed.Classes = data.Numbers, 1
		t.note("label %s: numbers to predict; data.columns = { %[1]s = \"category\" } makes classes of them", name)
		err := cmp.Or(c.decide(), c.rounded())
		t.fed.Notes = append(t.fed.Notes, own.Scale(c.values, 1)...)
		return err
	}
	if err := c.categories(nil); err != nil {
		return err
	}
	if len(c.Values) == 1 {
		t.note("label %s: all are of one class; there is nothing to learn", name)
	}
	t.fed.Classes, t.fed.ClassNames = len(c.Values), c.Values
	t.fed.Notes = append(t.fed.Notes, own.Alike("names of classes", c.Values)...)
	t.fed.Notes = append(t.fed.Notes, own.Unseen(c.values, t.train, func(x float32) string {
		if x != x {
			return ""
		}
		return c.Values[int(x)]
	})...)
	way, n := "", len(c.Values)
	if n > 2 {
		way = fmt.Sprintf(" (data.positive, such as \"= %s\" or \"> %[1]s\", makes two of them)", c.Values[0])
	}
	if len(c.Values) == 2 {
		way = fmt.Sprintf(" (class 1, which F1 and PR AUC are about, is %s; see data.positive)", oneline.Name(c.Values[1]))
	}
	t.list(fmt.Sprintf("label %s: %d classes%s: ", name, n, way), c.Values)
	switch {
	case n > fewNumbers && c.odd == "":
		t.note("label %s: data.columns = { %[1]s = \"number\" } predicts the numbers instead of classes", name)
	case n > 20 && n > c.n/3:
		t.note("label %s: the %d values, of which %d differ, are taken for classes; if they are numbers to predict, write "+
			"them as such", name, c.n, n)
	}
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
	t.fed.Forms = slices.ContainsFunc(append(t.columns, t.label), func(c *column) bool { return c.form != formPlain })
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
		why := "no label"
		if drop {
			why += fmt.Sprintf(", or a missing value (data.impute = %q)", t.cfg.Impute)
		}
		t.note("%d of %d rows are left out: they have %s", len(labels)-n, len(labels), why)
		all = all.Pick(kept)
	}
	named := slices.ContainsFunc(clients[train:], func(id string) bool { return id != "" })
	if named && slices.Contains(clients[train:], "") {
		return nil, nil, fmt.Errorf("%s: some files with test samples have the column %s (data.client_column) and "+
			"some have not", t.cfg.Path, oneline.Name(t.cfg.ClientColumn))
	}
	if clients[0] == "" || !named {
		clients = clients[:slices.Index(append(clients, ""), "")]
	}
	return t.fed, own.ByClient(t.fed, all, clients, train), nil
}
