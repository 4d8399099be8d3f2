package config

import (
	"fmt"
	"strings"
)

// The maximum size of a study file, and the maximum nesting of its tables and lists. The
// decoder's work grows with the square of the depth.
const (
	maxDocument = 1 << 20
	maxDepth    = 64
)

// checkDepth returns an error that begins with the line, for a text that is too large or
// nested too deeply. It skips strings and comments as TOML does, and leaves other errors
// to the decoder.
func checkDepth(text string) error {
	if len(text) > maxDocument {
		return fmt.Errorf(" study file larger than %d bytes", maxDocument)
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
			return fmt.Errorf("%d: tables and lists nested more than %d levels deep", line, maxDepth)
		}
		i++
	}
	return nil
}

// stringLen returns the length of the string at the start of a text, including its
// quotes. An unterminated string extends to the end of the line, or of the text if it may
// have several lines.
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
