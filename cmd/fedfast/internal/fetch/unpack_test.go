package fetch

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// member is a member of an archive that a test makes.
type member struct {
	name    string
	content []byte
	kind    byte // of tar; 0 is a file
	link    string
}

// tarred returns a .tar.gz of members.
func tarred(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Typeflag: m.kind, Linkname: m.link, Size: int64(len(m.content)), Mode: 0o4777}
		if m.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(m.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zipped returns a .zip of members.
func zipped(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if m.link != "" {
			h.SetMode(os.ModeSymlink | 0o777)
		}
		out, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(append(m.content, m.link...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fetchArchive fetches an archive from a folder into dir.
func fetchArchive(t *testing.T, dir, name string, content []byte, gives ...string) error {
	t.Helper()
	from := t.TempDir()
	if err := os.WriteFile(filepath.Join(from, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
	f := File{Name: name, Gives: gives}
	switch name {
	case "renamed.zip":
		f.Renames = map[string]string{"100.txt": "raw_data.txt"}
	case "empty.tar.gz":
		f.Holds = []string{"d/test.bin", "d/train.bin"}
	}
	_, err := Fetch(t.Context(), &Set{Name: "x", Files: []File{f}}, Options{Dir: dir, From: from})
	return err
}

// tarBz2 holds the files a ("one\n") and b ("two\n"), by tar and bzip2.
const tarBz2 = "testdata/ab.tar.bz2"

func TestUnpack(t *testing.T) {
	bz2, err := os.ReadFile(tarBz2)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		content []byte
		gives   []string
		file    string // of dir that holds want
		want    string
	}{
		{"x.tar.gz", tarred(t, member{name: "./d/", kind: tar.TypeDir}, member{name: "./d/e/f", content: []byte("hello")},
			member{name: "rest", content: []byte("x")}), []string{"d"}, "d/e/f", "hello"},
		{"x.zip", zipped(t, member{name: "d/f", content: []byte("hello")}), []string{"d"}, "d/f", "hello"},
		{
			"renamed.zip", zipped(t, member{name: "100.txt", content: []byte("plays")}),
			[]string{"raw_data.txt"},
			"raw_data.txt", "plays",
		},
		{"ab.tar.bz2", bz2, []string{"a", "b"}, "b", "two\n"},
	} {
		dir := t.TempDir()
		if err := fetchArchive(t, dir, tt.name, tt.content, tt.gives...); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got, err := os.ReadFile(filepath.Join(dir, tt.file)); err != nil || string(got) != tt.want {
			t.Errorf("%s: %q, error %v", tt.name, got, err)
		}
		if left := names(dir); left != strings.Join(tt.gives, ", ") {
			t.Errorf("%s: the folder holds %s", tt.name, left)
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	zeros := make([]byte, 150<<20)
	whole := tarred(t, member{name: "d", content: noise(100_000)})
	var many []member
	for range maxMembers + 1 {
		many = append(many, member{name: "d/", kind: tar.TypeDir})
	}
	for _, tt := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"up.tar.gz", tarred(t, member{name: "../d", content: []byte("x")}), `"../d" would lie outside of the folder`},
		{"up.zip", zipped(t, member{name: "a/../../d", content: []byte("x")}), `"a/../../d" would lie outside of the folder`},
		{"root.tar.gz", tarred(t, member{name: "/tmp/d", content: []byte("x")}), `"/tmp/d" would lie outside of the folder`},
		{"back.zip", zipped(t, member{name: `..\d`, content: []byte("x")}), `would lie outside of the folder`},
		{"link.tar.gz", tarred(t, member{name: "d", kind: tar.TypeSymlink, link: "/etc"},
			member{name: "d/x", content: []byte("x")}), `"d" is neither a file nor a folder`},
		{
			"hard.tar.gz", tarred(t, member{name: "d", kind: tar.TypeLink, link: "/etc/passwd"}),
			`"d" is neither a file nor a folder`,
		},
		{"pipe.tar.gz", tarred(t, member{name: "d", kind: tar.TypeFifo}), `"d" is neither a file nor a folder`},
		{"link.zip", zipped(t, member{name: "d", link: "/etc"}), `"d" is neither a file nor a folder`},
		{"bomb.tar.gz", tarred(t, member{name: "d", content: zeros}), "unpacks to far more than any set of data does"},
		{"bomb.zip", zipped(t, member{name: "d", content: zeros}), "unpacks to far more than any set of data does"},
		{"many.tar.gz", tarred(t, many...), "holds more than 100000 files"},
		{"twice.tar.gz", tarred(t, member{name: "d", content: []byte("x")},
			member{name: "d", content: []byte("y")}), `"d" is in it twice`},
		{"sum.tar.gz", changed(whole, len(whole)-6), "the archive is damaged: gzip: invalid checksum"},
		{"length.tar.gz", changed(whole, len(whole)-2), "the archive is damaged: gzip: invalid checksum"},
		{"sumless.tar.gz", whole[:len(whole)-8], "the archive ends early"},
		{"short.tar.gz", whole[:len(whole)/2], "the archive ends early"},
		{"bad.zip", []byte("PK\x03\x04 and no more"), "the archive is damaged"},
		{"bad.tar.bz2", []byte("BZh9 and no more"), "the archive is damaged"},
		{"other.tar.gz", tarred(t, member{name: "e", content: []byte("x")}), "there is no d in it, only e"},
		{"nothing.tar.gz", tarred(t), "there is no d in it, only nothing"},
		{
			"empty.tar.gz", tarred(t, member{name: "d/test.bin", content: []byte("x")}),
			"there is no d/train.bin in it, only test.bin",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			err := fetchArchive(t, dir, tt.name, tt.content, "d")
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.name) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v\nmust be one line with %q", err, tt.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "d")); err == nil {
				t.Error("the folder holds d")
			}
		})
	}
}

// changed returns content with one byte changed.
func changed(content []byte, at int) []byte {
	content = bytes.Clone(content)
	content[at] ^= 1
	return content
}

// FuzzUnpack: whatever an archive holds, nothing is made next to the folder and
// only what it gives in it.
func FuzzUnpack(f *testing.F) {
	f.Add(zipped(f, member{name: "d", content: []byte("x")}), true)
	f.Add(zipped(f, member{name: "../d", content: []byte("x")}), true)
	f.Add(tarred(f, member{name: "d", content: []byte("x")}), false)
	f.Add(tarred(f, member{name: "d", kind: tar.TypeSymlink, link: ".."}), false)
	f.Fuzz(func(t *testing.T, content []byte, isZip bool) {
		top := t.TempDir()
		dir := filepath.Join(top, "dir")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		name := "x.tar.gz"
		if isZip {
			name = "x.zip"
		}
		archive := filepath.Join(dir, name)
		if err := os.WriteFile(archive, content, 0o600); err != nil {
			t.Fatal(err)
		}
		err := unpack(t.Context(), archive, dir, &File{Name: name, Gives: []string{"d"}})
		if got := names(top); got != "dir" {
			t.Errorf("made %s", got)
		}
		if got := names(dir); got != name && (err != nil || got != "d, "+name) {
			t.Errorf("made %s, error %v", got, err)
		}
	})
}
