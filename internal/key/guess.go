package key

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Name is a word that may be meant by a misspelt one.
type Name struct {
	// Name is the right word, such as client.lr.
	Name string
	// Also lists other words for it, without the part up to the last dot.
	Also []string
}

// Names returns words that have no other words for them.
func Names(words ...string) []Name {
	names := make([]Name, len(words))
	for i, w := range words {
		names[i].Name = w
	}
	return names
}

// DidYouMean ends an error about an unknown word with the known one that is likely
// meant: ` (did you mean "client.lr"?)`, empty when none is.
func DidYouMean(word string, known []Name) string {
	if guess := Guess(word, known); guess != "" {
		return fmt.Sprintf(" (did you mean %q?)", guess)
	}
	return ""
}

// Guess returns the known word that is likely meant by another one, empty when
// none is: one that differs in case or in signs between its parts, then one without
// its table, then one of which it is a part, then the one that the fewest changes
// of a letter lead to, then one that holds the word or has its last part. Of equal
// ones it is the first.
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

// closest returns the name that the fewest changes of a letter lead to, if these
// are few for the length of the word.
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

// all returns the name and the others in its table.
func (n Name) all() []string {
	all := []string{n.Name}
	table := strings.TrimSuffix(n.Name, last(n.Name))
	for _, also := range n.Also {
		all = append(all, table+also)
	}
	return all
}

// last returns the part after the last dot.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// between says whether a sign stands between the parts of a name.
func between(r rune) bool { return r == '-' || r == '_' || r == '.' }

// squash leaves out what words are often written differently in: case and signs
// between their parts.
func squash(word string) string { return signs.Replace(strings.ToLower(word)) }

var signs = strings.NewReplacer("_", "", "-", "", " ", "")
