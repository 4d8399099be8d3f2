package key

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/fedfast/fedfast/internal/list"
)

// Name is a known name that a misspelt one may stand for.
type Name struct {
	// Name is the correct name, such as client.lr.
	Name string
	// Also lists other names for it, without the part up to the last dot.
	Also []string
}

// Names returns names without alternatives.
func Names(words ...string) []Name {
	names := make([]Name, len(words))
	for i, w := range words {
		names[i].Name = w
	}
	return names
}

// DidYouMean returns the suffix of an error about an unknown name that suggests a known
// one: ` (did you mean "client.lr"?)`. It is empty if there is no suggestion.
func DidYouMean(word string, known []Name) string {
	if guess := Guess(word, known); guess != "" {
		return fmt.Sprintf(" (did you mean %q?)", guess)
	}
	return ""
}

// Guess returns the known name most likely meant by word, empty if there is none. It
// tries, in this order: a name that differs only in case or separators; one without its
// table; one of whose parts word is; the one with the smallest edit distance; one that
// contains word or has the same last part. The first of equal candidates wins.
func Guess(word string, known []Name) string {
	given := strings.ToLower(word)
	if word = squash(word); word == "" {
		return ""
	}
	for _, alike := range []func(name string) bool{
		func(name string) bool { return squash(name) == word },
		func(name string) bool { return strings.HasSuffix(squash(name), "."+word) },
		func(name string) bool { return slices.Contains(strings.FieldsFunc(name, between), given) },
	} {
		for _, k := range known {
			if slices.ContainsFunc(k.all(), alike) {
				return k.Name
			}
		}
	}
	if guess := closest(word, known); guess != "" {
		return guess
	}
	for _, k := range known {
		if name := squash(k.Name); len(word) > 2 && strings.Contains(name, word) || last(word) != word && last(word) == last(name) {
			return k.Name
		}
	}
	return ""
}

// closest returns the name with the smallest edit distance, if that is small compared
// with the length of the word.
func closest(word string, known []Name) string {
	best, fewest := "", max(2, len(word)/3)+1
	if len(word) < 4 {
		fewest = 2
	}
	for _, k := range known {
		for _, name := range k.all() {
			if d := levenshtein.ComputeDistance(word, squash(name)); d < fewest {
				best, fewest = k.Name, d
			}
		}
	}
	return best
}

// all returns the name and its alternatives, with their table.
func (n Name) all() []string {
	table := strings.TrimSuffix(n.Name, last(n.Name))
	return append([]string{n.Name}, list.Of(n.Also, func(also string) string { return table + also })...)
}

// last returns the part after the last dot.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// between reports whether r separates parts of a name.
func between(r rune) bool { return r == '-' || r == '_' || r == '.' }

// squash normalizes a name: it removes case and separators.
func squash(word string) string { return signs.Replace(strings.ToLower(word)) }

var signs = strings.NewReplacer("_", "", "-", "", " ", "")

// Unknown returns the error of a key whose value is not a known name: with the one that is
// likely meant, or else with all.
func Unknown(of, value string, known []string) error {
	right := cmp.Or(DidYouMean(value, Names(known...)), "; use one of "+strings.Join(known, ", "))
	return &Error{Key: of, Problem: fmt.Sprintf(" = %q: unknown name%s", value, right)}
}
