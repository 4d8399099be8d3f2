package table

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// What a file may have at most.
const (
	maxColumns = 1 << 14
	maxRow     = 1 << 24 // bytes
)

// head is how much of a file is looked at for its delimiter.
const head = 1 << 16

// source is an open file of rows.
type source interface {
	io.Closer
	// columns returns the names of the columns, and what is odd about them.
	columns() (names []string, note string)
	// each calls with the values of the columns that are read, those of a column in the order of the rows: a text,
	// or a number x if it is empty, NaN for none. line is where it is.
	each(ctx context.Context, read []bool, call func(column, line int, text string, x float64) error) error
}

// bounded ends a row that is too long, such as one with a quote that nothing closes.
type bounded struct {
	io.Reader
	path string
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("%s: a row of more than %d MB; is a quote missing?", b.path, maxRow>>20)
	}
	return n, err
}

// rows is an open file of rows.
type rows struct {
	*gzfile.File
	in    *bounded
	csv   *csv.Reader
	names []string // of the columns
	first []string // the first row, where it is no header
	note  string   // what is odd about the names

	decoded bool // by data.charset
}

// mark is U+FEFF, with which Windows begins files in UTF-8.
var mark = []byte("\ufeff")

// sepLine finds the first line in which Excel names the delimiter, if there is one.
var sepLine = regexp.MustCompile(`^(?:"?sep=(.)"?\r?\n)?`)

// delimiter returns the character between the fields of a text.
func delimiter(name, text string) (rune, error) {
	if name == "tab" {
		name = "\t"
	}
	if r, size := utf8.DecodeRuneInString(name); name != "" {
		if size != len(name) || strings.ContainsRune("\"\r\n\uFFFD", r) {
			return 0, fmt.Errorf("data.delimiter = %q: must be one character, or tab", name)
		}
		return r, nil
	}
	there, quoted := map[rune]int{',': 1}, false
	for _, r := range strings.TrimLeft(text, "\r\n") {
		if quoted = quoted != (r == '"'); r == '\n' && !quoted {
			break
		}
		if !quoted {
			there[r]++
		}
	}
	if there['|'] < there[','] { // a comma is counted once more, and has what stands once in a name
		there['|'] = 0
	}
	return []rune("\t;|,")[slices.IndexFunc([]rune("\t;|,"), func(r rune) bool { return there[r] > 0 })], nil
}

// isUTF8 reports whether a file is text in UTF-8, without the bytes by which other sets of characters keep to ASCII.
func isUTF8(path string) bool {
	file, err := gzfile.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // it was read only
	in := bufio.NewReaderSize(transform.NewReader(file, encoding.UTF8Validator), head)
	text, _ := in.Peek(head)
	_, err = io.Copy(io.Discard, in)
	return err == nil && !strings.ContainsAny(string(text), "\x00\x1b")
}

// openRows opens a file and reads the names of its columns.
func openRows(cfg *data.Config, path string) (_ source, err error) {
	file, err := gzfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	decoder, decoded := transform.Transformer(transform.Nop), false // next refuses what is no UTF-8
	if cfg.Charset != "" {
		named, err := htmlindex.Get(cfg.Charset)
		if err != nil {
			return nil, fmt.Errorf("data.charset = %q: unknown; use a name such as latin1, windows-1252, gbk or utf-16",
				cfg.Charset)
		}
		if decoded = !isUTF8(path); decoded {
			decoder = named.NewDecoder()
		}
	}
	in := bufio.NewReaderSize(transform.NewReader(file, unicode.BOMOverride(decoder)), head)
	text, _ := in.Peek(head)          // next tells what is wrong
	for bytes.HasPrefix(text, mark) { // of a file that two programs have saved
		text = text[len(mark):]
		_, _ = in.Discard(len(mark)) // they are there
	}
	if strings.ContainsRune(string(text), 0) {
		return nil, fmt.Errorf("%s: not text; save the table as CSV in UTF-8, or set data.charset", path)
	}
	if bytes.ContainsRune(text, '\r') && !bytes.ContainsRune(text, '\n') {
		return nil, fmt.Errorf("%s: its lines end with CR alone; save it with LF or CR LF", path)
	}
	f := &rows{File: file, in: &bounded{in, path, maxRow}, decoded: decoded}
	f.csv = csv.NewReader(f.in)
	said := sepLine.FindStringSubmatch(string(text))
	if f.csv.Comma, err = delimiter(cmp.Or(cfg.Delimiter, said[1]), string(text)); err != nil {
		return nil, err
	}
	f.csv.FieldsPerRecord, f.csv.ReuseRecord, f.csv.TrimLeadingSpace = -1, true, f.csv.Comma != '\t'
	row, _, err := f.next()
	if said[1] != "" && err == nil {
		row, _, err = f.next()
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: there are no rows", path)
	}
	if len(row) > maxColumns {
		err = fmt.Errorf("%s: %d columns, must be at most %d", path, len(row), maxColumns)
	}
	if err == nil {
		f.name(cfg, row)
	}
	return f, err
}

// name names the columns by the first row, or numbers them.
func (f *rows) name(cfg *data.Config, row []string) {
	header := !slices.ContainsFunc(row, func(text string) bool {
		is := false
		for i, f := range forms {
			_, ok := f.read(strings.TrimSpace(text), cfg.Decimal)
			is = is || ok && i != formTruth
		}
		return is
	})
	if cfg.Header != nil {
		header = *cfg.Header
	} else if !header {
		f.note = fmt.Sprintf("the first row has numbers: it is a sample; the columns are X1 to X%d (data.header)", len(row))
	}
	if !header {
		f.first = slices.Clone(row)
	}
	times := map[string]int{}
	for i, name := range row {
		if name = strings.TrimSpace(name); !header || name == "" {
			name = "X" + strconv.Itoa(i+1)
		}
		again := name
		for times[again]++; times[again] > 1; times[again]++ {
			again = fmt.Sprintf("%s.%d", name, times[name]-1)
			f.note = fmt.Sprintf("column %s is there several times; the last one is %s", oneline.Name(name), oneline.Name(again))
		}
		f.names = append(f.names, strings.Clone(again))
	}
}

// next returns the next row and its line, or io.EOF.
func (f *rows) next() (row []string, line int, err error) {
	f.in.left = maxRow
	row, err = f.csv.Read()
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, parse.Line, fmt.Errorf(`%s line %d: a quote is in the wrong place, or missing; write "" for one within `+
			`quotes (%w)`, f.in.path, parse.Line, parse.Err)
	}
	if err != nil {
		return nil, 0, err
	}
	line, _ = f.csv.FieldPos(0)
	for _, text := range row {
		if !utf8.ValidString(text) {
			return nil, line, fmt.Errorf(`%s line %d: %s is not valid UTF-8; set data.charset, such as "latin1"`,
				f.in.path, line, oneline.Name(text))
		}
	}
	return row, line, nil
}

func (f *rows) columns() ([]string, string) { return f.names, f.note }

func (f *rows) each(ctx context.Context, read []bool, call func(int, int, string, float64) error) (err error) {
	for row, line := f.first, 1; ; row = nil {
		if row == nil {
			row, line, err = f.next()
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(row) != len(f.names):
			return fmt.Errorf("%s line %d: %d fields, the first row has %d", f.in.path, line, len(row), len(f.names))
		}
		for i, text := range row {
			if !read[i] {
				continue
			}
			if err := cmp.Or(ctx.Err(), call(i, line, strings.TrimSpace(text), math.NaN())); err != nil {
				return err
			}
		}
	}
}
