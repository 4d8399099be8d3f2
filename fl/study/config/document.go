package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
)

// setting is a key with the value that a layer gives it.
type setting struct {
	// key is the dotted name, without the free part below an open key: for
	// space."client.lr" it is "space" and name is "client.lr".
	key, name string
	value     any
	// path is the path of the value in its document.
	path []string
	// literal is the text of an assignment's value, empty for a file.
	literal string
}

// document is a parsed study file.
type document struct {
	name string
	text string
	tree map[string]any
	keys []toml.Key // in the order of the text
}

// parseDocument parses TOML; the error names file and line.
func parseDocument(name, text string) (*document, error) {
	d := &document{name: name, text: text}
	if err := checkDepth(text); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	md, err := toml.Decode(text, &d.tree)
	d.keys = md.Keys()
	if err != nil {
		if syntax, ok := errors.AsType[toml.ParseError](err); ok {
			line := strings.Split(text, "\n")[max(syntax.Position.Line, 1)-1]
			wrong := oneline.Of(syntax.Message) + quoted(line, syntax.Message)
			return nil, fmt.Errorf("%s:%d: %s", name, syntax.Position.Line, wrong)
		}
		return nil, fmt.Errorf("%s: %s", name, oneline.Of(err.Error()))
	}
	return d, nil
}

// unquoted is what TOML says of a text without quotes, or with \ in double ones.
var unquoted = regexp.MustCompile(`^expected value|^floats must start|'\\|escape|got ','`)

// decimal is a number as other programs write it.
var decimal = regexp.MustCompile(`^([-+]?)(\d*)[.,](\d+)$`)

// quoted says how to write the text of a line, of which TOML says what is wrong; empty where that is something else.
func quoted(line, wrong string) string {
	name, value, ok := strings.Cut(line, "=")
	value = strings.Trim(strings.TrimSpace(value), "\"\u201c\u201d")
	if !unquoted.MatchString(wrong) || ok && value == "" {
		return ""
	}
	number := decimal.FindStringSubmatch(value)
	switch truth := strings.ToLower(value); {
	case !ok:
	case truth == "true" || truth == "false":
		return fmt.Sprintf("; write %s = %s", strings.TrimSpace(name), truth)
	case number != nil:
		return fmt.Sprintf("; write %s = %s%s.%s", strings.TrimSpace(name), number[1], cmp.Or(number[2], "0"), number[3])
	case strings.Contains(wrong, "got ','"):
		return ""
	}
	if !ok || strings.ContainsAny(value, "'#[{") {
		name, value = "data.path", `C:\Users\me\own.npz`
	}
	return fmt.Sprintf("; write texts, such as paths with \\, in single quotes: %s = '%s'", strings.TrimSpace(name), value)
}

// settings flattens the document. Only the problem with the lowest line is reported.
func (d *document) settings() ([]setting, error) {
	var f flattener
	f.table(nil, d.tree)
	seen := map[string]bool{}
	for _, s := range f.settings {
		if id := s.key + "\x00" + s.name; seen[id] {
			f.problem(s.path, fmt.Errorf("key %q is set twice", s.full()))
		} else {
			seen[id] = true
		}
	}
	if len(f.problems) > 0 {
		first := d.first(f.problems)
		return nil, fmt.Errorf("%s: %w", d.at(first.path), first.err)
	}
	return f.settings, nil
}

// first returns the problem that comes first in the text.
func (d *document) first(problems []problem) problem {
	rank := make(map[string]int, len(d.keys))
	for i, key := range slices.Backward(d.keys) {
		rank[strings.Join(key, "\x00")] = i
	}
	return slices.MinFunc(problems, func(a, b problem) int {
		return rank[strings.Join(a.path, "\x00")] - rank[strings.Join(b.path, "\x00")]
	})
}

// full returns the key as shown in errors.
func (s setting) full() string {
	if s.name == "" {
		return s.key
	}
	return s.key + "." + s.name
}

// problem is an error at a place in a document.
type problem struct {
	path []string
	err  error
}

// flattener turns nested tables into settings.
type flattener struct {
	settings []setting
	problems []problem
}

func (f *flattener) problem(path []string, err error) {
	f.problems = append(f.problems, problem{path, err})
}

// table flattens a table at a path. Keys may be nested, dotted or quoted: all
// parts are joined by dots.
func (f *flattener) table(path []string, t map[string]any) {
	for _, part := range slices.Sorted(maps.Keys(t)) {
		p := append(slices.Clone(path), part)
		key := strings.Join(p, ".")
		sub, isTable := t[part].(map[string]any)
		switch open, name := openKey(key); {
		case open == "space" && name != "" && (!isTable || !nested(sub) && !isPrefix(name)):
			f.settings = append(f.settings, setting{key: open, name: name, value: t[part], path: p})
		case open != "" && open != "space" && name != "" && !isTable:
			f.settings = append(f.settings, setting{key: open, name: name, value: t[part], path: p})
		case schema[key].Kind() != 0, key == "space" && !isTable, key == "data.columns" && isTable && len(sub) == 0:
			f.settings = append(f.settings, setting{key: key, value: t[part], path: p})
		case isTable && (open != "" || isPrefix(key)):
			f.table(p, sub)
		case isTable && len(sub) > 0 && !isPrefix(key):
			f.unknown(p, sub)
		default:
			f.problem(p, unknownKeyError(key))
		}
	}
}

// unknown reports the unknown keys of a table.
func (f *flattener) unknown(path []string, t map[string]any) {
	for _, part := range slices.Sorted(maps.Keys(t)) {
		p := append(slices.Clone(path), part)
		f.problem(p, unknownKeyError(strings.Join(p, ".")))
	}
}

// nested reports whether a table below [space] contains dimensions instead of being one.
func nested(t map[string]any) bool {
	for _, v := range t {
		if _, ok := v.(map[string]any); !ok {
			return false
		}
	}
	return len(t) > 0
}

// at returns file and line of a path.
func (d *document) at(path []string) string {
	if line := d.line(path); line > 0 {
		return fmt.Sprintf("%s:%d", d.name, line)
	}
	return d.name
}

// line returns the line of the value at a path, 0 if the decoder does not know it. The
// decoder reports positions only in errors, so it decodes a value that always fails.
func (d *document) line(path []string) int {
	level := map[string]toml.Primitive{}
	md, err := toml.Decode(d.text, &level)
	if err != nil {
		return 0
	}
	var values []toml.Primitive // along the path
	for _, part := range path {
		value, ok := level[part]
		if !ok {
			break
		}
		values = append(values, value)
		level = map[string]toml.Primitive{}
		if md.PrimitiveDecode(value, &level) != nil {
			break
		}
	}
	for _, value := range slices.Backward(values) {
		if l := firstLine(&md, value); l > 0 {
			return l
		}
	}
	return 0
}

// firstLine returns the line of a value; for a table without one of its own, as
// dotted keys make it, that of its first value. It returns 0 for such a table with more
// than 100 values, since the decoder reads the whole text for the position of each.
func firstLine(md *toml.MetaData, value toml.Primitive) int {
	var refused toml.ParseError
	if errors.As(md.PrimitiveDecode(value, &refusal{}), &refused) && refused.Position.Line > 0 {
		return refused.Position.Line
	}
	level := map[string]toml.Primitive{}
	if md.PrimitiveDecode(value, &level) != nil || len(level) > 100 {
		return 0
	}
	first := 0
	for _, v := range level {
		if l := firstLine(md, v); l > 0 && (first == 0 || l < first) {
			first = l
		}
	}
	return first
}

// refusal is a value that always fails to decode.
type refusal struct{}

var _ toml.Unmarshaler = (*refusal)(nil)

var errRefused = errors.New("refused")

// UnmarshalTOML fails, so that the decoder reports the position of the value.
func (*refusal) UnmarshalTOML(any) error { return errRefused }

// optionsOf returns the defaults of the options of a type of layers, nil without any.
func optionsOf(name any) any {
	for _, t := range models.LayerTypes() {
		if t.Name == name {
			return t.Options
		}
	}
	return nil
}

// readOptions reads a table of options that stand at a key.
func readOptions(options *map[string]any, s setting, defaults any) error {
	table, ok := s.value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: must be a table, { NAME = VALUE }", s.key)
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if err := setOption(options, setting{key: s.key, name: name, value: table[name]}); err != nil {
			return err
		}
	}
	return checkOptions(s.key, defaults, *options)
}

// OptionKeys returns what is known of the options of a layer or of a loss that stand at a
// key, of which the defaults are given; none without.
func OptionKeys(at string, defaults any) []key.Key {
	if defaults == nil {
		return nil
	}
	return key.Of(reflect.TypeOf(defaults), at+".")
}

// checkOptions returns an error for options that the defaults do not have or that are out
// of range, which names the key at which they stand.
func checkOptions(at string, defaults any, given map[string]any) error {
	options, err := nn.ReadOptions(defaults, given)
	if err != nil || options == nil {
		if err != nil {
			return &key.Error{Key: at, Problem: ": " + err.Error()}
		}
		return nil
	}
	for _, k := range OptionKeys(at, options) {
		if err := k.Check(reflect.ValueOf(options)); err != nil {
			return err
		}
	}
	return nil
}
