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

// dumpOf writes the dump of a site: Posts.xml with a post a user and text.
func dumpOf(t *testing.T, dir, site string, texts ...string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("<posts>\n")
	for _, text := range texts {
		user, body, _ := strings.Cut(text, ":")
		fmt.Fprintf(&b, "<row PostTypeId=\"2\" OwnerUserId=%q Body=\"&lt;p&gt;%s&lt;/p&gt;\"/>\n", user, body)
	}
	b.WriteString("</posts>\n")
	if err := os.MkdirAll(filepath.Join(dir, site), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, site, "Posts.xml"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Users of two sites with the same number are two clients; the words come from
// all: tea (3), the (2), a is before z of the words seen once.
func TestStackExchange(t *testing.T) {
	dir := t.TempDir()
	dumpOf(t, dir, "tea", "10:The tea. Tea", "9:z the", "10:a")
	dumpOf(t, dir, "beer", "10:tea")
	cfg := data.Config{Name: "stackexchange", Path: dir, Split: "100/0/0", MinSamples: 1, Vocab: 3}
	fed := settest.Open(t, cfg)
	if fed.Vocab != 7 || fed.Classes != 7 || !fed.EveryStep || fed.Lazy || len(fed.Masks) != 2 {
		t.Errorf("the form is %+v", fed)
	}
	var got []string
	for _, c := range fed.Clients {
		for i := range c.Train.Len() {
			labels := make([]int32, 20)
			settest.Must(t, c.Train.Fill([]int32{int32(i)}, nil, make([]int32, 20), labels, nil))
			got = append(got, fmt.Sprintf("%s %v", c.ID, labels[:slices.Index(labels, -1)]))
		}
	}
	// "tea" is 1, "the" 2, "." 3; 4 is any other word, 6 the end.
	want := []string{"beer/10 [1 6]", "tea/9 [4 2 6]", "tea/10 [2 1 3 6]", "tea/10 [1 6]", "tea/10 [4 6]"}
	if !slices.Equal(got, want) {
		t.Errorf("labels\n%q\nmust be\n%q", got, want)
	}
	cfg.Path = filepath.Join(dir, "beer", "Posts.xml")
	if fed := settest.Open(t, cfg); len(fed.Clients) != 1 || fed.Clients[0].ID != "beer/10" {
		t.Errorf("of one file: %+v", fed.Clients)
	}
}

func TestStackExchangeFails(t *testing.T) {
	dir := t.TempDir()
	dumpOf(t, dir, "none")
	for _, tt := range []struct{ path, want string }{
		{t.TempDir(), "no Posts.xml or Comments.xml"},
		{filepath.Join(dir, "none"), "holds no text of a user"},
		{filepath.Join(dir, "nowhere"), "no such file"},
	} {
		_, err := data.Open(t.Context(), data.Config{Name: "stackexchange", Path: tt.path})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.path) {
			t.Errorf("error %v, must hold %q", err, tt.want)
		}
	}
}

// The counts of texts and users come from the folder's README.
func TestRealStackExchange(t *testing.T) {
	dir := realdata.Dir(t, "stackexchange")
	fed := settest.Open(t, data.Config{Name: "stackexchange", Path: dir, MinSamples: 1, Split: "100/0/0"})
	if !strings.HasPrefix(fed.Notes[0], "4408 texts of ") { // 1169 + 1165 + 1522 + 552
		t.Errorf("note %q", fed.Notes[0])
	}
	users := map[string]int{}
	for _, c := range fed.Clients {
		site, _, _ := strings.Cut(c.ID, "/")
		users[site]++
	}
	if beer, coffee := users["beer.stackexchange.com"], users["coffee.stackexchange.com"]; beer != 554 || coffee != 115 {
		t.Errorf("%d users of beer, %d of coffee; must be 554 and 115", beer, coffee)
	}
	settest.Check(t, fed)
	// Text, not noise: few words are not among the 10,000.
	var other, all int
	for _, c := range fed.Clients {
		for label, n := range settest.ClassCounts(t, c.Train, fed.Classes) {
			all += n
			if label == int(fed.Masks[0].Labels[0]) {
				other += n
			}
		}
	}
	if share := float64(other) / float64(all); share < 0.001 || share > 0.08 {
		t.Errorf("%d of %d labels are other words", other, all)
	}
}
