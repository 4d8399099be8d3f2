// Package stackexchange holds the sets of sentences of Stack Exchange's sites, and
// reads their dumps: Posts.xml and Comments.xml, plain or gzip, one element a post.
// They are read as a stream.
package stackexchange

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/sys/memory"
)

// maxRow bounds the bytes of one post: an element's attributes are in memory
// together.
const maxRow = 16 << 20

// The types of posts that users write; the others are wikis of tags and such.
const (
	question = "1"
	answer   = "2"
)

// Counts tells what a file holds.
type Counts struct {
	Texts     int // with their user
	Anonymous int // texts without a user, or of the site's own account
	Others    int // posts that are neither questions nor answers
}

// add adds what another file holds.
func (c *Counts) add(more Counts) {
	c.Texts += more.Texts
	c.Anonymous += more.Anonymous
	c.Others += more.Others
}

// Post is a question, an answer or a comment.
type Post struct {
	// User is who wrote it, Text what: HTML in posts and plain in comments.
	User   int64
	Text   string
	IsHTML bool
	// ID is the post's number, Parent that of the question that an answer is to; ""
	// where the file does not say it.
	ID, Parent string
	// Title and Tags are a question's, the tags as the file has them: <a><b>, or
	// |a|b| in newer dumps.
	Title, Tags string
}

// Read calls each with every question and answer of a Posts.xml, or every
// comment of a Comments.xml, that has a user, in the order of the file. The Post is
// valid until each returns. Errors name the file and the line.
func Read(ctx context.Context, path string, each func(p *Post) error) (Counts, error) {
	return readAll(ctx, path, func(p *Post) error {
		if p.User < 0 {
			return nil
		}
		return each(p)
	})
}

// readAll is Read with the texts of nobody, whose user is -1.
func readAll(ctx context.Context, path string, each func(p *Post) error) (counts Counts, err error) {
	f, err := gzfile.Open(path)
	if err != nil {
		return Counts{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := &bounded{in: f, left: maxRow}
	d := xml.NewDecoder(in)
	named := func(err error) error {
		line, _ := d.InputPos()
		return fmt.Errorf("%s: line %d: %w", path, line, err)
	}
	kind, depth := "", 0
	for {
		token, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF) && kind != "" && depth == 0:
			return counts, nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return counts, fmt.Errorf("%s: the XML ends early; is the file complete?", path)
		case err != nil:
			return counts, explained(path, named, err)
		}
		in.left = maxRow
		switch token := token.(type) {
		case xml.Directive:
			return counts, named(errors.New("declares a document type, as no dump does"))
		case xml.EndElement:
			depth--
		case xml.StartElement:
			depth++
			switch {
			case depth == 1 && kind == "" && (token.Name.Local == "posts" || token.Name.Local == "comments"):
				kind = token.Name.Local
			case depth == 2 && token.Name.Local == "row":
				if err := ctx.Err(); err != nil {
					return counts, err
				}
				if err := counts.row(kind, token.Attr, each); err != nil {
					return counts, named(err)
				}
			default:
				return counts, named(fmt.Errorf("element <%.40s> has no place in a dump, which is <posts> or <comments> with <row>s", token.Name.Local))
			}
		}
		if depth < 0 {
			return counts, named(errors.New("ends an element that did not begin"))
		}
	}
}

// explained names an error of reading.
func explained(path string, named func(error) error, err error) error {
	var syntax *xml.SyntaxError
	switch {
	case strings.HasPrefix(err.Error(), path): // of the file
		return err
	case errors.As(err, &syntax) && strings.Contains(syntax.Msg, "unexpected EOF"):
		return fmt.Errorf("%s: the XML ends early; is the file complete?", path)
	case errors.As(err, &syntax):
		return named(errors.New(syntax.Msg))
	}
	return named(err)
}

// row reads the attributes of a post or comment.
func (c *Counts) row(kind string, attributes []xml.Attr, each func(p *Post) error) error {
	p := Post{IsHTML: kind == "posts"}
	userName, textName := "OwnerUserId", "Body"
	if !p.IsHTML {
		userName, textName = "UserId", "Text"
	}
	var user, post string
	hasText := false
	for _, a := range attributes {
		switch a.Name.Local {
		case userName:
			user = a.Value
		case textName:
			p.Text, hasText = a.Value, true
		case "PostTypeId":
			post = a.Value
		case "Id":
			p.ID = a.Value
		case "ParentId":
			p.Parent = a.Value
		case "Title":
			p.Title = a.Value
		case "Tags":
			p.Tags = a.Value
		}
	}
	if p.IsHTML && post != question && post != answer {
		c.Others++
		return nil
	}
	if !hasText {
		return fmt.Errorf("a row of <%s> has no %s", kind, textName)
	}
	p.User = -1
	if user != "" {
		id, err := strconv.ParseInt(user, 10, 64)
		if err != nil {
			return fmt.Errorf("%s is %.40q, must be a number", userName, user)
		}
		p.User = max(-1, id)
	}
	if !utf8.ValidString(p.Text) {
		return errors.New("the text is not UTF-8")
	}
	if p.User < 0 {
		c.Anonymous++
	} else {
		c.Texts++
	}
	return each(&p)
}

// bounded fails when more than left bytes are read before left is set anew.
type bounded struct {
	in   io.Reader
	left int
}

// Read reads bytes.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, fmt.Errorf("one element has more than %d bytes", maxRow)
	}
	n, err := b.in.Read(p)
	b.left -= n
	return n, err
}

// userSize is about what a user takes in addition to its examples.
const userSize = 200

// siteUser is one user of one site.
type siteUser struct {
	site string
	id   int64
}

// userTexts are the examples of users, as numbers.
type userTexts struct {
	of     map[siteUser]*texts
	total  int            // numbers
	budget *memory.Budget // of all files
}

// texts are the examples of one user, one after the other.
type texts struct {
	numbers  []uint16
	examples int
}

// add adds an example of a user by appending its numbers.
func (u *userTexts) add(user siteUser, appendTo func([]uint16) []uint16) error {
	if u.of == nil {
		u.of = map[siteUser]*texts{}
	}
	t := u.of[user]
	if t == nil {
		t = &texts{}
		u.of[user] = t
	}
	before := len(t.numbers)
	t.numbers = appendTo(t.numbers)
	t.examples++
	u.total += len(t.numbers) - before
	more := 2 * int64(len(t.numbers)-before)
	if t.examples == 1 {
		more += userSize
	}
	if err := u.budget.Take(more); err != nil {
		return fmt.Errorf("the sentences: %w; take smaller sites, or a file of posts or comments alone", err)
	}
	return nil
}

// examples puts the users' texts, which it empties, into one view, by site and
// number.
func (u *userTexts) examples(view func(all []uint16) data.View) []data.Examples {
	order := make([]siteUser, 0, len(u.of))
	for user := range u.of {
		order = append(order, user)
	}
	slices.SortFunc(order, func(a, b siteUser) int {
		return cmp.Or(strings.Compare(a.site, b.site), cmp.Compare(a.id, b.id))
	})
	all := make([]uint16, 0, u.total)
	var writers []data.Examples
	var counts []int
	for _, user := range order {
		t := u.of[user]
		all = append(all, t.numbers...)
		delete(u.of, user)
		writers = append(writers, data.Examples{Client: user.site + "/" + strconv.FormatInt(user.id, 10)})
		counts = append(counts, t.examples)
	}
	v, first := view(all), 0
	for i, n := range counts {
		writers[i].Train = v.Part(first, first+n)
		first += n
	}
	return writers
}
