package stackexchange

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Sentences calls each with every sentence of a text: its words in lower case
// with spaces between. Words are runs of letters, digits and apostrophes; other
// visible characters are words of their own. A sentence ends with one of .!? and
// a space, at the end of a line or of a block of HTML. Code (<pre>, <code>),
// tags and addresses of pages are left out. The slice is valid until each
// returns.
func Sentences(text string, isHTML bool, each func(sentence []byte)) {
	s := &splitter{each: each}
	if !isHTML {
		s.text(text)
		s.end()
		return
	}
	hidden := 0
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken: // the end
			s.end()
			return
		case html.TextToken:
			if hidden == 0 {
				s.text(string(z.Text()))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := z.TagName()
			tag := atom.Lookup(name)
			switch {
			case hides(tag) && kind == html.StartTagToken:
				hidden++
			case hides(tag) && kind == html.EndTagToken:
				hidden = max(0, hidden-1)
			}
			if !slices.Contains(inlineTags, tag) {
				s.end()
			}
		default: // comments and such
		}
	}
}

// hides reports whether what is in a tag is no text.
func hides(tag atom.Atom) bool {
	return tag == atom.Pre || tag == atom.Code || tag == atom.Script || tag == atom.Style
}

// inlineTags are those over which a sentence goes on.
var inlineTags = []atom.Atom{
	atom.A, atom.Abbr, atom.B, atom.Code, atom.Del, atom.Em, atom.I, atom.Ins, atom.Kbd, atom.S, atom.Small, atom.Span, atom.Strike,
	atom.Strong, atom.Sub, atom.Sup, atom.U,
}

// splitter gathers the words of a sentence.
type splitter struct {
	each     func([]byte)
	sentence []byte
}

// text adds a piece of text.
func (s *splitter) text(text string) {
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == '\n':
			s.end()
		case strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://"):
			size = strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == ')' || r == ']' })
			if size < 0 {
				size = len(text)
			}
		case isWord(r):
			size = strings.IndexFunc(text, func(r rune) bool { return !isWord(r) && r != '\'' && r != '’' })
			if size < 0 {
				size = len(text)
			}
			word := strings.TrimRight(text[:size], "'’")
			size = len(word)
			s.word(strings.ReplaceAll(strings.ToLower(word), "’", "'"))
		case unicode.IsSpace(r), !unicode.IsGraphic(r), r == utf8.RuneError:
		default:
			s.word(text[:size])
			if rest := text[size:]; strings.ContainsRune(".!?", r) && (rest == "" || unicode.IsSpace(rune(rest[0]))) {
				s.end()
			}
		}
		text = text[size:]
	}
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// word adds a word.
func (s *splitter) word(w string) {
	if len(s.sentence) > 0 {
		s.sentence = append(s.sentence, ' ')
	}
	s.sentence = append(s.sentence, w...)
}

// end ends a sentence. One without a letter or digit is dropped.
func (s *splitter) end() {
	if bytes.ContainsFunc(s.sentence, isWord) {
		s.each(s.sentence)
	}
	s.sentence = s.sentence[:0]
}
