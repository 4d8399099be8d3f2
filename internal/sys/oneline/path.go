package oneline

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Path writes a path as one word of a command that people copy into a POSIX shell: as it
// stands where no shell reads anything into it, else in quotes, and in $'...' with octal
// bytes where it holds what no terminal shows. One that begins as a flag does begins with ./
// instead.
func Path(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	shown := utf8.ValidString(path)
	plain := shown && path != ""
	for _, r := range path {
		plain = plain && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+:,@%", r) || r == filepath.Separator)
		shown = shown && strconv.IsPrint(r)
	}
	switch {
	case plain:
		return path
	case shown:
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	word := []byte("$'")
	for _, c := range []byte(path) {
		if c < ' ' || c > '~' || c == '\'' || c == '\\' {
			word = fmt.Appendf(word, `\%03o`, c)
		} else {
			word = append(word, c)
		}
	}
	return string(word) + "'"
}
