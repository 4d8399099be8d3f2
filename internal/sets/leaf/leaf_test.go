package leaf

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write writes a file of a test and returns its path.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// packedUsers returns twoUsers as gzip has it.
func packedUsers(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(twoUsers)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const twoUsers = `{"users": ["b", "a"], "num_samples": [2, 1], "hierarchies": [{"n": null}, [true, -1.5e3]],
	"user_data": {"a": {"y": [2], "x": [[0, 0.5]]}, "b": {"x": [[1.0, 0.00392156862745098], [0.2, 1]], "y": [0, 1.0], "more": "\u00e9"}}}
`

func TestReadImages(t *testing.T) {
	form := Form{Pixels: 2, Classes: 3}
	for _, path := range []string{write(t, "all.json", twoUsers), write(t, "all.json.gz", packedUsers(t))} {
		users, err := ReadFile(t.Context(), path, form)
		if err != nil {
			t.Fatal(err)
		}
		if len(users) != 2 || users[0].ID != "b" || users[1].ID != "a" {
			t.Fatalf("users %+v", users)
		}
		if b := users[0]; !slices.Equal(b.Pixels, []byte{255, 1, 51, 255}) || b.Values != nil ||
			!slices.Equal(b.Labels, []int32{0, 1}) {
			t.Errorf("user b: %+v", b)
		}
		// 0.5 is no k/255: the user's pixels stay floats.
		if a := users[1]; a.Pixels != nil || !slices.Equal(a.Values, []float32{0, 0.5}) ||
			!slices.Equal(a.Labels, []int32{2}) {
			t.Errorf("user a: %+v", a)
		}
	}
}

func TestReadTexts(t *testing.T) {
	text := `{"users": ["u"], "num_samples": [9], "user_data": {"u": {"x": ["abc", "bcd", "x\"\u00e9", "cde"], "y": ["d", "e", "\n", "f"]}}}`
	users, err := ReadFile(t.Context(), write(t, "text.json", text), Form{SeqLen: 3})
	if err != nil {
		t.Fatal(err)
	}
	u := users[0]
	var got []string
	for _, s := range u.Starts {
		got = append(got, string(u.Text[s:s+3])+">"+string(u.Text[s+3]))
	}
	if want := []string{"abc>d", "bcd>e", "x\"é>\n", "cde>f"}; !slices.Equal(got, want) {
		t.Errorf("samples %q, must be %q", got, want)
	}
	if len(u.Text) != 3+1+1+4+4 {
		t.Errorf("%d characters are held: the first two samples share theirs", len(u.Text))
	}
}

func TestReadErrors(t *testing.T) {
	images, text := Form{Pixels: 2, Classes: 3}, Form{SeqLen: 3}
	tests := []struct {
		name, file, content string
		form                Form
		want                string // after the file's name
	}{
		{
			"more x than y", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,1],[1,1]],"y":[1]}}}`, images,
			`: user "u": x has 2 samples, y has 1`,
		},
		{
			"text: more y than x", "a.json", `{"users":["u"],"user_data":{"u":{"x":["abc"],"y":["d","e"]}}}`, text,
			`: user "u": x has 1 samples, y has 2`,
		},
		{
			"too few pixels", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,1],[1]],"y":[1,1]}}}`, images,
			`: user "u": sample 2 has 1 pixels, must be 2`,
		},
		{
			"too many pixels", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,1,1]],"y":[1]}}}`, images,
			`: user "u": sample 1 has 3 pixels, must be 2`,
		},
		{
			"1e308", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,1],[0,1e308]],"y":[1,1]}}}`, images,
			`: user "u": pixel 2 of sample 2 is 1e+308, must be a number that 32 bits hold`,
		},
		{
			"just beyond 32 bits", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[-3.5e38,1]],"y":[1]}}}`, images,
			`: user "u": pixel 1 of sample 1 is -3.5e+38, must be a number that 32 bits hold`,
		},
		{
			"long integer", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,` + strings.Repeat("9", 60) + `]],"y":[1]}}}`,
			images, `: user "u": pixel 2 of sample 1 is 1e+60, must be a number that 32 bits hold`,
		},
		{
			"1e999", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,1e999]],"y":[1]}}}`, images,
			`: user "u": after byte 47: "1e999" is no number that 64 bits hold`,
		},
		{
			"data twice", "a.json", `{"users":["u"],"user_data":{"u":{"x":[],"y":[]}},"user_data":{}}`, images,
			`: after byte 60: key user_data is there twice`,
		},
		{
			"list twice", "a.json", `{"users":["u"],"users":["u"],"user_data":{"u":{"x":[],"y":[]}}}`, images,
			`: after byte 22: key users is there twice`,
		},
		{
			"x twice", "a.json", `{"users":["u"],"user_data":{"u":{"x":[],"x":[[0,1]],"y":[1]}}}`,
			images, `: user "u": has x twice`,
		},
		{
			"y twice", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,1],[0,1]],"y":[1],"y":[1]}}}`,
			images, `: user "u": has y twice`,
		},
		{
			"label too large", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,1]],"y":[3]}}}`, images,
			`: user "u": sample 1 has label 3, must be an integer in [0, 3)`,
		},
		{
			"label below 0", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,1]],"y":[-1]}}}`, images,
			`: user "u": sample 1 has label -1, must be an integer in [0, 3)`,
		},
		{
			"label of 1.5", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,1]],"y":[1.5]}}}`, images,
			`: user "u": sample 1 has label 1.5, must be an integer in [0, 3)`,
		},
		{
			"window too short", "a.json", `{"users":["u"],"user_data":{"u":{"x":["ab"],"y":["d"]}}}`, text,
			`: user "u": x of sample 1 has 2 characters, must have 3`,
		},
		{
			"two next characters", "a.json", `{"users":["u"],"user_data":{"u":{"x":["abc"],"y":["de"]}}}`, text,
			`: user "u": y of sample 1 has 2 characters, must have 1`,
		},
		{
			"images for texts", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[1]],"y":[1]}}}`, text,
			`: user "u": x of sample 1 is a list, must be a text; is this an image set?`,
		},
		{
			"texts for images", "a.json", `{"users":["u"],"user_data":{"u":{"x":["abc"],"y":[1]}}}`, images,
			`: user "u": x of sample 1 is a text, must be a list of pixels; is this a text set?`,
		},
		{
			"user without data", "a.json", `{"users":["u","v"],"user_data":{"u":{"x":[[0,1]],"y":[1]}}}`, images,
			`: user "v": is listed, but has no data, or is listed twice`,
		},
		{
			"user not listed", "a.json", `{"users":["u"],"user_data":{"u":{"x":[],"y":[]},"v":{}}}`, images,
			`: user "v": has data, but is not listed in users`,
		},
		{
			"user twice", "a.json", `{"users":["u"],"user_data":{"u":{"x":[],"y":[]},"u":{}}}`, images,
			`: user "u": is in the file twice`,
		},
		{"no users", "a.json", `{"Users":[]}`, images, `: no list "users" in it, or an empty one: not a LEAF file`},
		{
			"text cut off", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,1`, images,
			`: user "u": the JSON text ends early, after 42 bytes; is the file complete?`,
		},
		{
			"cut off after a period", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0.`, images,
			`: user "u": the JSON text ends early, after 41 bytes; is the file complete?`,
		},
		{
			"cut off in an exponent", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[1e`, images,
			`: user "u": the JSON text ends early, after 41 bytes; is the file complete?`,
		},
		{
			"cut off in a string", "a.json", `{"users":["u`, images,
			`: the JSON text ends early, after 12 bytes; is the file complete?`,
		},
		{"empty file", "a.json", ``, images, `: the file is empty`},
		{
			"no number", "a.json", `{"users":["u"],"user_data":{"u":{"x":[[0,NaN]],"y":[1]}}}`, images,
			`: user "u": byte 42: invalid character 'N' at start of value`,
		},
		{
			"more after the end", "a.json", `{"users":["u"],"user_data":{"u":{"x":[],"y":[]}}} {`, images,
			`: after byte 51: more text after the end of the JSON object`,
		},
		{"gzip cut off", "a.json.gz", packedUsers(t)[:60], images, `: the gzip data end early; is the file complete?`},
		{
			"gzip without its checksum", "a.json.gz", packedUsers(t)[:len(packedUsers(t))-5], images,
			`: the gzip data end early; is the file complete?`,
		},
		{"nested too deep", "a.json", `{"more":` + strings.Repeat("[", 10_001), images, `: byte 10008: exceeded max depth`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.file, tt.content)
			_, err := ReadFile(t.Context(), path, tt.form)
			if err == nil || err.Error() != path+tt.want {
				t.Errorf("error %v\nmust be %s%s", err, path, tt.want)
			}
		})
	}
	if _, err := ReadFile(t.Context(), filepath.Join(t.TempDir(), "none.json"), images); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := ReadFile(stopped, write(t, "a.json", twoUsers), images); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"data/train/b.json.gz", "data/train/a.json", "data/train/notes.txt",
		"data/test/c.json", "flat/x.json",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	want := Files{
		Train: []string{filepath.Join(data, "train/a.json"), filepath.Join(data, "train/b.json.gz")},
		Test:  []string{filepath.Join(data, "test/c.json")},
	}
	for _, path := range []string{data, dir} {
		files, err := Find(path)
		if err != nil || !slices.Equal(files.Train, want.Train) || !slices.Equal(files.Test, want.Test) {
			t.Errorf("Find(%s) = %v, %v", path, files, err)
		}
	}
	flat := filepath.Join(dir, "flat")
	if files, err := Find(flat); err != nil || len(files.Train) != 1 || len(files.Test) != 0 {
		t.Errorf("a folder of files: %v, %v", files, err)
	}
	if files, err := Find(filepath.Join(flat, "x.json")); err != nil || len(files.Train) != 1 {
		t.Errorf("a file: %v, %v", files, err)
	}
	if _, err := Find(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no .json or .json.gz file in it") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Find(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

func TestReadManyFiles(t *testing.T) {
	one := `{"users":["u","t"],"user_data":{"u":{"x":[[0,1]],"y":[1]},"t":{"x":[[1,1]],"y":[0]}}}`
	two := `{"users":["s"],"user_data":{"s":{"x":[[0,1]],"y":[1]}}}`
	a, b, bad := write(t, "a.json", one), write(t, "b.json", two), write(t, "bad.json", "[")
	form := Form{Pixels: 2, Classes: 2}
	users, err := Read(t.Context(), []string{a, b}, form)
	if err != nil || len(users) != 3 || users[0].ID != "s" || users[1].ID != "t" ||
		users[2].ID != "u" || users[0].File != b {
		t.Errorf("read %+v, %v; must be s, t, u", users, err)
	}
	_, err = Read(t.Context(), []string{a, a}, form)
	if err == nil || !strings.HasPrefix(err.Error(), a+`: user "t" is also in `+a) {
		t.Errorf("one user in two files: %v", err)
	}
	if _, err := Read(t.Context(), []string{bad, a, bad}, form); err == nil ||
		!strings.HasPrefix(err.Error(), bad+": after byte 0: [ where { must be") {
		t.Errorf("a bad file among others: %v", err)
	}
}
