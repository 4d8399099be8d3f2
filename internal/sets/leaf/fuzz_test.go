package leaf

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fedfast/fedfast/internal/test/memtest"
)

const twoTexts = `{"users": ["r"], "num_samples": [2], "user_data": {"r": {"x": ["abc", "bcd"], "y": ["d", "e"]}}}`

// FuzzReadFile: any text gives users with as many samples as labels, or one line.
func FuzzReadFile(f *testing.F) {
	f.Add(twoUsers)
	f.Add(twoTexts)
	f.Add(twoUsers[:len(twoUsers)/2])
	f.Add(`{"users": ["a", "a"], "num_samples": [1e300], "user_data": {"a": {"x": [[1e999, "\ud800"]], "y": [-1]}}}`)
	f.Add(strings.Repeat("[", 100_000))
	f.Add(`{"users": ["` + strings.Repeat(`","`, 50_000) + `"]}`)
	f.Add("{\"users\": [\"\xff\"]}")
	f.Fuzz(func(t *testing.T, text string) {
		path := write(t, "all.json", text)
		for _, form := range []Form{{Pixels: 2, Classes: 3}, {SeqLen: 3}, {Lines: true, Classes: 3}} {
			var users []User
			var err error
			memtest.Bounded(t, len(text), func() { users, err = ReadFile(t.Context(), path, form) })
			if err != nil {
				if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path) {
					t.Errorf("error %q", err)
				}
				continue
			}
			for _, u := range users {
				pixels := max(len(u.Pixels), len(u.Values))
				if pixels != len(u.Labels)*form.Pixels || len(u.Starts) > len(text) || len(u.Text) > 4*len(text) {
					t.Errorf("user %q: %d labels, %d pixels, %d starts in %d characters", u.ID, len(u.Labels),
						pixels, len(u.Starts), len(u.Text))
				}
				for _, s := range u.Starts {
					if int(s)+form.SeqLen >= len(u.Text) {
						t.Errorf("user %q: a window at %d of %d characters", u.ID, s, len(u.Text))
					}
				}
				if utf8.ValidString(text) && !utf8.ValidString(u.ID) {
					t.Errorf("user %q", u.ID)
				}
			}
		}
	})
}
