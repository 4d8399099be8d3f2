package stackexchange

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/memtest"
)

// write writes a file, packed by gzip if its name says so, and returns its path.
func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if strings.HasSuffix(name, ".gz") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		content = b.Bytes()
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns what Read tells of a file, a line a text.
func read(t testing.TB, path string) (texts []string, counts Counts, err error) {
	t.Helper()
	counts, err = Read(t.Context(), path, func(p *Post) error {
		texts = append(texts, fmt.Sprintf("%d %v %s", p.User, p.IsHTML, p.Text))
		return nil
	})
	return texts, counts, err
}

const posts = "\ufeff" + `<?xml version="1.0" encoding="utf-8"?>
<posts>
  <row Id="1" PostTypeId="1" Body="&lt;p&gt;Why &amp;amp; how?&lt;/p&gt;&#xA;" OwnerUserId="8" Title="T" />
  <row Id="2" PostTypeId="2" ParentId="1" OwnerUserId="-1" Body="by the site" />
  <row Id="3" PostTypeId="2" ParentId="1" OwnerDisplayName="gone" Body="by nobody" />
  <row Id="4" PostTypeId="5" OwnerUserId="8" Body="a wiki" />
  <row Id="5" PostTypeId="2" OwnerUserId="9" Body='it&apos;s "so"' />
</posts>`

func TestRead(t *testing.T) {
	comments := `<comments><row Id="1" Text="a &lt; b" UserId="7"/><row Id="2" Text="x"/></comments>`
	for _, tt := range []struct {
		name, content string
		want          []string
		counts        Counts
	}{
		{"Posts.xml", posts, []string{"8 true <p>Why &amp; how?</p>\n", `9 true it's "so"`}, Counts{2, 2, 1}},
		{"Posts.xml.gz", posts, []string{"8 true <p>Why &amp; how?</p>\n", `9 true it's "so"`}, Counts{2, 2, 1}},
		{"Comments.xml", comments, []string{"7 false a < b"}, Counts{1, 1, 0}},
		{"Posts.xml", "<posts></posts>", nil, Counts{}},
	} {
		texts, counts, err := read(t, write(t, tt.name, []byte(tt.content)))
		if err != nil || !slices.Equal(texts, tt.want) || counts != tt.counts {
			t.Errorf("%s: %q %+v %v", tt.name, texts, counts, err)
		}
	}
}

func TestReadFails(t *testing.T) {
	row := `<row PostTypeId="1" OwnerUserId="8" Body="x"/>`
	laughs := `<!DOCTYPE posts [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><posts><row PostTypeId="1" OwnerUserId="8" Body="&b;"/></posts>`
	for _, tt := range []struct{ name, content, want string }{
		{"empty", "", "the file is empty"},
		{"short", posts[:len(posts)-60], "the XML ends early; is the file complete?"},
		{"cut within the end", "<posts>" + row, "the XML ends early; is the file complete?"},
		{"no XML", "once upon a time", "the XML ends early"},
		{"another file", "<users><row/></users>", "line 1: element <users> has no place in a dump"},
		{"another element", "<posts><post/></posts>", "element <post> has no place in a dump"},
		{"deep", "<posts><row PostTypeId='7'>" + strings.Repeat("<row>", 9), "element <row> has no place in a dump"},
		{"two roots", "<posts></posts><posts></posts>", "element <posts> has no place in a dump"},
		{"ends too much", "<posts></posts></posts>", "ends an element that did not begin"},
		{"a document type", laughs, "declares a document type, as no dump does"},
		{"an entity of nobody", `<posts><row PostTypeId="1" Body="&b;"/></posts>`, "invalid character entity &b;"},
		{"invalid UTF-8", "<posts><row PostTypeId='1' OwnerUserId='8' Body='\xff\xfe'/></posts>", "invalid UTF-8"},
		{"other encoding", `<?xml version="1.0" encoding="utf-16"?><posts></posts>`, `encoding "utf-16"`},
		{
			"a user without a number", "<posts>\n<row PostTypeId='1' OwnerUserId='me' Body='x'/></posts>",
			`line 2: OwnerUserId is "me", must be a number`,
		},
		{"no text", "<posts><row PostTypeId='1' OwnerUserId='8'/></posts>", "a row of <posts> has no Body"},
		{
			"a row without end", "<posts><row PostTypeId='1' Body='" + strings.Repeat("x", maxRow+maxRow/2),
			"one element has more than 16777216 bytes",
		},
		{"text without end", "<posts>" + strings.Repeat("x", maxRow+maxRow/2), "one element has more than 16777216 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, "Posts.xml", []byte(tt.content))
			_, _, err := read(t, path)
			if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), tt.want) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("error %.300v\nmust be one line with %q", err, tt.want)
			}
		})
	}
}

func TestSentences(t *testing.T) {
	for _, tt := range []struct {
		text   string
		isHTML bool
		want   []string
	}{
		{
			"<p>Why &amp; how? I’ve <b>no</b> idea.</p><ul><li>One</li><li>two</li></ul>", true,
			[]string{"why & how ?", "i've no idea .", "one", "two"},
		},
		{
			"<p>Use <code>x = 1</code>:</p><pre><code>for i in x:\n  pass</code></pre><p>Version 2.5 of it</p>", true,
			[]string{"use :", "version 2 . 5 of it"},
		},
		{"<p>broken <a href='x'>html &bogus; < 3", true, []string{"broken html & bogus ; < 3"}},
		{
			"See [this](http://x.org/a.b?c=d) or https://y.org. It's 'quoted'!\n<b>", false,
			[]string{"see [ this ] ( ) or it's ' quoted ' !", "< b >"},
		},
		{"... !!! \x00\u200b", false, nil},
		{"Ünïcödé ist schön", false, []string{"ünïcödé ist schön"}},
	} {
		var got []string
		Sentences(tt.text, tt.isHTML, func(s []byte) { got = append(got, string(s)) })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q\ngives   %q\nmust be %q", tt.text, got, tt.want)
		}
	}
}

// FuzzRead: whatever a file holds, Read ends with texts or one line, and the
// sentences of the texts are UTF-8 without empty words.
func FuzzRead(f *testing.F) {
	f.Add([]byte(posts))
	f.Add([]byte(`<comments><row Id="1" Text="a &lt; b. C" UserId="7"/></comments>`))
	f.Add([]byte("<posts><row PostTypeId='1' OwnerUserId='8' Body='&lt;pre>&lt;p>x&lt;/code>'/></posts>"))
	f.Add([]byte("<!DOCTYPE a [<!ENTITY b 'c'>]><posts/>"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := write(t, "Posts.xml", content)
		var err error
		memtest.Bounded(t, len(content), func() {
			_, err = Read(t.Context(), path, func(p *Post) error {
				text := p.Text
				Sentences(text, p.IsHTML, func(s []byte) {
					if len(s) > 3*len(text) || bytes.HasPrefix(s, []byte(" ")) || bytes.Contains(s, []byte("  ")) ||
						bytes.HasSuffix(s, []byte(" ")) {
						t.Errorf("%q gives %q", text, s)
					}
				})
				return nil
			})
		})
		if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path)) {
			t.Errorf("error %q", err)
		}
	})
}
