package fetch

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An archive without a known checksum that was damaged after it came is noticed
// when it is unpacked, and downloaded again; one that is damaged at its place is
// given up.
func TestDamagedArchive(t *testing.T) {
	content := tarred(t, member{name: "d", content: noise(5000)})
	damaged := bytes.Clone(content)
	damaged[3000] ^= 1
	s, dir := serve(t, content, nil), t.TempDir()
	file := File{Name: "x.tar.gz", URLs: []string{s.URL + "/x"}, Gives: []string{"d"}}
	for name, text := range map[string]string{
		"x.tar.gz.part":      string(damaged),
		"x.tar.gz.part.from": s.URL + "/x\n\"" + sum(content)[:16] + "\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	notes, err := bring(t, dir, file)
	if err != nil || !strings.Contains(notes, "the archive is damaged") || !strings.Contains(notes, "begins again") {
		t.Errorf("error %v, notes %s", err, notes)
	}
	if left := names(dir); left != "d" {
		t.Errorf("the folder holds %s", left)
	}
	bad, dir := serve(t, damaged, nil), t.TempDir()
	file.URLs = []string{bad.URL + "/x"}
	if _, err := bring(t, dir, file); err == nil || !strings.Contains(err.Error(),
		"unpack x.tar.gz: the archive is damaged") {
		t.Errorf("error %v", err)
	}
	if left := names(dir); left != "nothing" {
		t.Errorf("the folder holds %s", left)
	}
}

// A link instead of a part or of what is noted about it is replaced: nothing
// is written to what it leads to.
func TestPlantedLinks(t *testing.T) {
	content := noise(5000)
	for _, from := range []bool{false, true} {
		dir, elsewhere := t.TempDir(), t.TempDir()
		var victims []string
		for _, name := range []string{"x.part", "x.part.from"} {
			victim := filepath.Join(elsewhere, name)
			if err := os.WriteFile(victim, content[:1000], 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(victim, filepath.Join(dir, name)); err != nil {
				t.Skip(err)
			}
			victims = append(victims, victim)
		}
		s := serve(t, content, nil)
		set := Set{Name: "x", Files: []File{{Name: "x", URLs: []string{s.URL + "/x"}, SHA256: sum(content)}}}
		o := Options{Dir: dir}
		if from {
			o.From = t.TempDir()
			if err := os.WriteFile(filepath.Join(o.From, "x"), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Fetch(t.Context(), &set, o); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, content)
		for _, victim := range victims {
			if text, err := os.ReadFile(victim); err != nil || !bytes.Equal(text, content[:1000]) {
				t.Errorf("%s has %d bytes now, %v", victim, len(text), err)
			}
		}
	}
}

// A part is appended to only where it is a file of its own.
func TestOpenPart(t *testing.T) {
	dir := t.TempDir()
	path, victim := filepath.Join(dir, "part"), filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, path); err != nil {
		t.Skip(err)
	}
	if f, err := openPart(path, 5); err == nil || !strings.Contains(err.Error(), "part: is no plain file; delete it") {
		t.Errorf("opened %v, %v", f, err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "0123456789" {
		t.Errorf("what the link leads to holds %q, %v", text, err)
	}
}
