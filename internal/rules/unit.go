package rules

import (
	"regexp"
	"strings"

	"github.com/fedfast/fedfast/tuners"
)

var roundWord = regexp.MustCompile(`\b(trial_)?round(s?)\b`)

// Unit returns a text about rounds, such as the message of a tuner, in the unit of a budget.
func Unit(b tuners.Budget, text string) string {
	if b.InRounds() {
		return text
	}
	return roundWord.ReplaceAllStringFunc(text, func(word string) string { return strings.Replace(word, "round", b.Unit(), 1) })
}
