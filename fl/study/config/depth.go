package config

import (
	"fmt"
	"strings"
)

// The largest study file that is read, and how deep its tables and lists may lie
// in each other. A decoder's work grows with the square of the depth.
const (
	maxDocument = 1 << 20
	maxDepth    = 64
)

// checkDepth returns an error that begins with the line, for a text that is too
// large or too deep to be parsed. It reads strings and comments as TOML does, and
// leaves it to the decoder to say what else is wrong.
func checkDepth(text string) error {
	if len(text) > maxDocument {
		return fmt.Errorf(" a study file of more than %d bytes is not read", maxDocument)
	}
	line, depth, parts := 1, 0, 1
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '\n':
			line++
			parts = 1
		case '"', '\'':
			n := stringLen(text[i:])
			line += strings.Count(text[i:i+n], "\n")
			i += n
			continue
		case '#':
			n := strings.IndexByte(text[i:], '\n')
			if n < 0 {
				return nil
			}
			i += n
			continue
		case '[', '{':
			depth++
			parts = 1
		case ']', '}':
			depth = max(0, depth-1)
		case '=', ',':
			parts = 1
		case '.':
			parts++
		}
		if depth > maxDepth || parts > maxDepth {
			return fmt.Errorf("%d: tables and lists lie more than %d deep in each other", line, maxDepth)
		}
		i++
	}
	return nil
}

// stringLen returns the length of the string with which a text begins, with its
// quotes; without an end it is as long as the line, or the text when it may have
// several lines.
func stringLen(text string) int {
	quote, multiple := text[:1], len(text) >= 3 && text[1] == text[0] && text[2] == text[0]
	if multiple {
		quote = text[:3]
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote[0] == '"':
			i++
		case text[i] == '\n' && !multiple:
			return i
		case strings.HasPrefix(text[i:], quote):
			end := i + len(quote)
			for n := 0; multiple && n < 2 && end < len(text) && text[end] == quote[0]; n++ {
				end++ // quotes before the last three belong to the string
			}
			return end
		}
	}
	return len(text)
}
