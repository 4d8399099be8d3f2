package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// parseAssignment parses key=value. The key is written as in a file: dotted, with quotes
// around parts that contain dots.
func parseAssignment(text string) ([]setting, error) {
	key, value, ok := cutAssignment(text)
	if !ok || key == "" {
		return nil, errors.New("want key=value")
	}
	if strings.ContainsAny(text, "\n\r") {
		return nil, errors.New("want key=value on one line; use one --set per key")
	}
	if err := checkDepth(text); err != nil {
		return nil, errors.New(strings.TrimLeft(err.Error(), "1: "))
	}
	d, err := parseDocument("", key+" = "+value+"\n")
	literal := ""
	switch {
	case err == nil && !strings.ContainsAny(value[:1], `"'[{`):
		literal = value
	case err != nil && (value == "" || !strings.ContainsAny(value[:1], `"'[{`)):
		// A bare word is a string.
		var quoted strings.Builder
		if err := toml.NewEncoder(&quoted).Encode(map[string]string{"v": value}); err != nil {
			return nil, err
		}
		_, quotedValue, _ := strings.Cut(quoted.String(), "=")
		if d, err = parseDocument("", key+" ="+quotedValue); err != nil {
			return nil, fmt.Errorf("invalid key %q: must be parts joined by dots; quote parts with characters other than letters, digits, _ and -", clip(key))
		}
	case err != nil:
		return nil, fmt.Errorf("invalid TOML value %s: %s", clip(value), strings.TrimPrefix(err.Error(), ":1: "))
	}
	var f flattener
	f.table(nil, d.tree)
	if len(f.problems) > 0 {
		return nil, f.problems[0].err
	}
	if len(f.settings) == 0 {
		return nil, errors.New("sets no key; want key=value")
	}
	for i := range f.settings {
		f.settings[i].literal = literal
	}
	return f.settings, nil
}

// cutAssignment splits at the first = outside of quotes.
func cutAssignment(text string) (key, value string, ok bool) {
	quote := byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '=':
			return strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:]), true
		}
	}
	return "", "", false
}
