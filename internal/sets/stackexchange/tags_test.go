package stackexchange_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/realdata"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// threadsOf are two questions, one of nobody with tags as newer dumps write them, an
// answer to each, one to a question that is not there, and a wiki.
const threadsOf = `<posts>
<row Id="1" PostTypeId="1" OwnerUserId="8" Title="Green tea?" Tags="&lt;tea&gt;&lt;green&gt;" Body="&lt;p&gt;Tea. Or?&lt;/p&gt;" />
<row Id="2" PostTypeId="2" ParentId="1" OwnerUserId="9" Body="tea" />
<row Id="3" PostTypeId="1" Title="Tea" Tags="|cups|tea|" Body="x" />
<row Id="4" PostTypeId="2" ParentId="3" OwnerUserId="9" Body="no" />
<row Id="5" PostTypeId="2" ParentId="77" OwnerUserId="9" Body="lost" />
<row Id="6" PostTypeId="5" OwnerUserId="9" Body="a wiki" />
</posts>`

// Each sentence goes with its question's title and tags; words are counted in each
// sentence and each title that a post has: tea 5, ? 3, green 2.
func TestStackExchangeTags(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Posts.xml")
	if err := os.WriteFile(path, []byte(threadsOf), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := data.Config{Name: "stackexchange-tags", Path: path, Split: "100/0/0", MinSamples: 1, Vocab: 3}
	fed := settest.Open(t, cfg)
	if fed.C != 3 || fed.Classes != 3 || fed.Target != data.ManyLabels || fed.Kind != data.Vector || fed.Lazy {
		t.Errorf("the form is %+v", fed)
	}
	var got []string
	for _, c := range fed.Clients {
		_, user, _ := strings.Cut(c.ID, "/")
		for i := range c.Train.Len() {
			x, y := make([]float32, 3), make([]float32, 3)
			settest.Must(t, c.Train.Fill([]int32{int32(i)}, x, nil, make([]int32, 1), nil))
			settest.Must(t, c.Train.FillTargets([]int32{int32(i)}, y))
			got = append(got, fmt.Sprintf("%s %.2f %v", user, x, y))
		}
	}
	// Words tea, ?, green; tags tea (3 posts), green (2), cups (1).
	want := []string{
		"8 [0.40 0.20 0.20] [1 1 0]", "8 [0.20 0.40 0.20] [1 1 0]", "9 [0.50 0.25 0.25] [1 1 0]",
		"9 [0.50 0.00 0.00] [1 0 1]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("examples\n%q\nmust be\n%q", got, want)
	}
	if note := fed.Notes[0]; note != "3 posts of 2 users; 1 posts without a user, 1 that are no question and no answer and 1 answers whose question is not there are left out" {
		t.Errorf("note %q", note)
	}
	for content, want := range map[string]string{
		`<posts><row Id="1" PostTypeId="1" OwnerUserId="8" Body="x"/></posts>`: "holds no text of a user with tags",
		"<posts>": "the XML ends early",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := data.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, must hold %q", err, want)
		}
	}
	cfg.Path = filepath.Join(t.TempDir(), "Comments.xml")
	if err := os.WriteFile(cfg.Path, []byte("<comments></comments>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := data.Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(),
		"only comments, which have no tags") {
		t.Errorf("error %v", err)
	}
}

// The questions and answers are those that the folder's README counts.
func TestRealStackExchangeTags(t *testing.T) {
	fed := settest.Open(t, data.Config{
		Name: "stackexchange-tags", Path: realdata.Dir(t, "stackexchange"),
		MinSamples: 1, Split: "100/0/0",
	})
	var posts, lost int
	if _, err := fmt.Sscanf(fed.Notes[0], "%d posts", &posts); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(fed.Notes[0], "no answer and ")
	if _, err := fmt.Sscanf(rest, "%d answers", &lost); err != nil || posts+lost != 3243 {
		t.Errorf("%q: %d posts, %d lost; must be 3243 together (%v)", fed.Notes[0], posts, lost, err)
	}
	settest.Check(t, fed)
	for i, c := range fed.Clients {
		if counts := settest.ClassCounts(t, c.Train, fed.Classes); i < 50 && slices.Max(counts) == 0 {
			t.Errorf("client %s has no tags", c.ID)
		}
	}
}
