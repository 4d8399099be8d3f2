package hdf5

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data/sys/memory/memtest"
)

// The files in testdata were made by testdata/make.py with h5py.

func open(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// dataset opens a data set by the names on its path.
func dataset(t testing.TB, f *File, names ...string) *Dataset {
	t.Helper()
	o := f.Root()
	for _, n := range names {
		var err error
		if o, err = o.Member(n); err != nil {
			t.Fatal(err)
		}
	}
	d, err := o.Dataset()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The values of make.py's emnist, here for one client.
func TestImages(t *testing.T) {
	f := open(t, "testdata/fed_emnist_train.h5")
	for c := range 12 {
		id := fmt.Sprintf("f%04d_%02d", c, c)
		d := dataset(t, f, "examples", id, "pixels")
		n := 1 + c%3
		pixels, err := d.Floats()
		if err != nil || !slices.Equal(d.Dims, []int{n, 28, 28}) || len(pixels) != n*28*28 {
			t.Fatalf("%s: %d values of dimensions %v, error %v", id, len(pixels), d.Dims, err)
		}
		for i, v := range pixels {
			if want := float32((i*7+c)%256) / 255; v != want {
				t.Fatalf("%s: pixel %d is %v, must be %v", id, i, v, want)
			}
		}
		labels, err := dataset(t, f, "examples", id, "label").Ints()
		if err != nil || len(labels) != n || labels[n-1] != int64((c+n-1)%10) {
			t.Errorf("%s: labels %v, error %v", id, labels, err)
		}
	}
}

func TestKinds(t *testing.T) {
	f := open(t, "testdata/kinds.h5")
	count := make([]int64, 100)
	for i := range count {
		count[i] = int64(i)
	}
	for _, tt := range []struct {
		name string
		dims []int
		want []int64
	}{
		{"int8", []int{2}, []int64{-1, 127}},
		{"uint16", []int{2, 1}, []int64{65535, 1}},
		{"single", []int{}, []int64{-7}},
		{"fletcher", []int{100}, count},
		{"grown", []int{3, 4, 5}, count[:60]},
	} {
		d := dataset(t, f, tt.name)
		got, err := d.Ints()
		if err != nil || !slices.Equal(d.Dims, tt.dims) || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v of dimensions %v, error %v", tt.name, got, d.Dims, err)
		}
	}
	if v, err := dataset(t, f, "float64").Floats(); err != nil || !slices.Equal(v, []float32{0.5, -2}) {
		t.Errorf("float64: %v, error %v", v, err)
	}
	if v, err := dataset(t, f, "none").Floats(); err != nil || len(v) != 0 {
		t.Errorf("none: %v, error %v", v, err)
	}
	if v, err := dataset(t, f, "fixed").Texts(); err != nil || len(v) != 2 || string(v[0]) != "ab" || string(v[1]) != "c" {
		t.Errorf("fixed: %q, error %v", v, err)
	}
	for name, want := range map[string]string{
		"sparse": "1 chunks of 10 are there",
		"lzf":    "filter 32000 is not read",
	} {
		if _, err := dataset(t, f, name).Ints(); err == nil || !strings.Contains(err.Error(), "testdata/kinds.h5: /"+name+": "+want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if o, err := f.Root().Member("big"); err != nil {
		t.Error(err)
	} else if _, err := o.Dataset(); err == nil || !strings.Contains(err.Error(), "elements of class 0 with 4 bytes, must be integers or floats (little-endian)") {
		t.Errorf("big: error %v", err)
	}
	if _, err := dataset(t, f, "int8").Floats(); err == nil || err.Error() != "testdata/kinds.h5: /int8: must be floats" {
		t.Errorf("floats of integers: %v", err)
	}
	if _, err := f.Root().Member("nothing"); err == nil || err.Error() != "testdata/kinds.h5: /: has no member nothing" {
		t.Errorf("a member that is not there: %v", err)
	}
}

func TestTexts(t *testing.T) {
	f := open(t, "testdata/shakespeare_train.h5")
	texts, err := dataset(t, f, "examples", "THE_PLAY_ROLE_2", "snippets").Texts()
	want := []string{"To be 2", "", strings.Repeat("né ", 30)}
	if err != nil || len(texts) != 3 {
		t.Fatalf("%q, error %v", texts, err)
	}
	for i := range want {
		if string(texts[i]) != want[i] {
			t.Errorf("text %d is %q", i, texts[i])
		}
	}
}

// A group of 3,400 members, whose trees have several levels: all are listed in
// order, and each is found. It is made here, for its size.
func TestManyMembers(t *testing.T) {
	python := "/usr/bin/python3"
	if err := exec.CommandContext(t.Context(), python, "-c", "import h5py").Run(); err != nil {
		t.Skip("python3-h5py is not installed")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), python, "testdata/make.py", dir)
	cmd.Env = append(os.Environ(), "MANY=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f := open(t, filepath.Join(dir, "many.h5"))
	examples, err := f.Root().Member("examples")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	err = examples.Each(func(name string, client Object) error {
		names = append(names, name)
		member, err := examples.Member(name)
		if err != nil {
			return err
		}
		if member != client {
			t.Errorf("%s is found at %d, listed at %d", name, member.at, client.at)
		}
		if len(names)%100 == 0 {
			labels, err := dataset(t, f, "examples", name, "label").Ints()
			if err != nil || len(labels) != 1+(len(names)-1)%3 {
				t.Errorf("%s: labels %v, error %v", name, labels, err)
			}
		}
		return nil
	})
	if err != nil || len(names) != 3400 || !slices.IsSorted(names) {
		t.Errorf("%d names, error %v", len(names), err)
	}
	if _, err := examples.Member("f9"); err == nil {
		t.Error("no error for a member that is not there")
	}
}

// all reads all that a file holds.
func all(f *File, o Object, depth int) error {
	return o.Each(func(_ string, member Object) error {
		d, err := member.Dataset()
		if err != nil {
			if depth > 4 {
				return err
			}
			return all(f, member, depth+1)
		}
		_, e1 := d.Floats()
		_, e2 := d.Ints()
		_, err = d.Texts()
		if e1 != nil && e2 != nil && err != nil {
			return err
		}
		return nil
	})
}

func TestOpenFails(t *testing.T) {
	whole, err := os.ReadFile("testdata/fed_emnist_train.h5")
	if err != nil {
		t.Fatal(err)
	}
	old := bytes.Clone(whole)
	old[8] = 9
	for name, tt := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":   {nil, "the file is empty"},
		"other":   {[]byte("SQLite format 3\x00"), "not an HDF5 file"},
		"head":    {whole[:20], "are beyond the end; is the file complete?"},
		"short":   {whole[:len(whole)/2], "is the file complete?"},
		"version": {old, "superblock of version 9"},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, tt.content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: error %v, must hold %q", name, err, tt.want)
		}
	}
	f := open(t, "testdata/latest.h5")
	if err := all(f, f.Root(), 0); err == nil || !strings.Contains(err.Error(), "is in the newer form of HDF5") {
		t.Errorf("the newer form: error %v", err)
	}
}

// A group whose members are not in the order of their names, or are there twice, is
// damaged.
func TestMemberTwice(t *testing.T) {
	content, err := os.ReadFile("testdata/fed_emnist_train.h5")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "twice.h5")
	if err := os.WriteFile(path, bytes.ReplaceAll(content, []byte("f0001_01"), []byte("f0000_00")), 0o600); err != nil {
		t.Fatal(err)
	}
	f := open(t, path)
	examples, err := f.Root().Member("examples")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	err = examples.Each(func(string, Object) error { count++; return nil })
	if err == nil || err.Error() != path+": /examples: member f0000_00 comes after f0000_00: the file is damaged" || count != 1 {
		t.Errorf("error %v after %d members", err, count)
	}
}

// FuzzFile: a damaged file gives values or an error, within bounds.
func FuzzFile(f *testing.F) {
	for _, name := range []string{"kinds.h5", "shakespeare_test.h5", "latest.h5", "fed_cifar100_test.h5"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content, uint16(0), uint32(0))
		f.Add(content, uint16(len(content)/2), uint32(0xffffffff))
	}
	f.Fuzz(func(t *testing.T, content []byte, at uint16, value uint32) {
		content = bytes.Clone(content)
		for i := range 4 { // a change that a fuzzer of bytes seldom finds
			if p := int(at) + i; value != 0 && p < len(content) {
				content[p] ^= byte(value >> (8 * i))
			}
		}
		file, err := newFile(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return
		}
		memtest.Bounded(t, len(content), func() {
			if err := all(file, file.Root(), 0); err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
		})
	})
}
