package shakespeare

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/test/realdata"
)

// TestMoby compares every role with what LEAF's own scripts wrote for this text.
func TestMoby(t *testing.T) {
	dir := realdata.Dir(t, "shakespeare", "moby")
	text, err := gzfile.ReadAll(filepath.Join(dir, "raw_data.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := gzfile.ReadAll(filepath.Join(dir, "users_and_plays.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(list, &want); err != nil {
		t.Fatal(err)
	}
	roles := Roles(string(text))
	written, users, windows, most := 0, 0, 0, 0
	for _, r := range roles {
		play, ok := want[r.ID]
		if !ok || play != r.Play {
			t.Errorf("role %s of %q: LEAF has it in %q", r.ID, r.Play, play)
		}
		delete(want, r.ID)
		if r.Text != "" {
			written++
		}
		if n := utf8.RuneCountInString(r.Text) - 80; n > 0 {
			users++
			windows += n
			most = max(most, n)
		}
	}
	for id := range want {
		t.Errorf("LEAF's role %s was not found", id)
	}
	if written != 1158 || users != 1140 || windows != 4_224_556 || most != 61_269 {
		t.Errorf("%d roles with text, %d with windows, %d windows, at most %d; LEAF has 1158, 1140, 4224556, 61269",
			written, users, windows, most)
	}
}
