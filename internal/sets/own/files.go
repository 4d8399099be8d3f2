package own

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/regular"
)

// saved converts arrays that a program has read.
const saved = `; read its arrays and save them: numpy.savez("own.npz", x=x, y=y, client=client)`

// magics are how files begin that users give for others, and what they are, with what
// converts them.
var magics = []struct{ begin, is string }{
	{"\x93NUMPY", `one array of numpy.save; save all in one file: numpy.savez("own.npz", x=numpy.load("x.npy"), y=numpy.load("y.npy"))`},
	{"PAR1", "Parquet, which data.name = \"parquet\" and \"parquet-text\" read"},
	{"PK", "a part of one, or a damaged one; copy or save it again"},
	{"\x89HDF", "HDF5" + saved},
	{"MATLAB", "a file of MATLAB" + saved},
	{"\x80", `a pickle; numpy.savez("own.npz", **pickle.load(open("own.pkl", "rb"))) converts a dict of arrays`},
	{"\x1f\x8b", "packed by gzip; unpack it: gunzip -c own.npz.gz > own.npz"},
	{"BZh", "packed by bzip2; unpack it: bunzip2 -c own.npz.bz2 > own.npz"},
	{"\xfd7zXZ", "packed by xz; unpack it: unxz -c own.npz.xz > own.npz"},
	{"ARROW1", "an Arrow (Feather) file" + saved},
	{"{", "JSON" + saved},
	{"SQLite", "an SQLite database" + saved},
}

// Kind says what a file seems to be, "" where it is not known.
func Kind(path string) string {
	f, err := regular.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was read only
	head := make([]byte, 8)
	n, _ := f.Read(head)
	for _, m := range magics {
		if strings.HasPrefix(string(head[:n]), m.begin) {
			return m.is
		}
	}
	return ""
}

// The parts that files of samples are for.
const (
	Train = iota
	Test
	Valid
)

var (
	words = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	parts = map[string]int{
		"train": Train, "training": Train, "test": Test, "tests": Test, "testing": Test, "tst": Test, "holdout": Test,
		"val": Valid, "valid": Valid, "validation": Valid, "validate": Valid, "dev": Valid, "eval": Valid, "evaluation": Valid,
	}
)

// Part says which part of the samples a file or a folder holds, by the words of its name;
// named is false where none says so. A name that says train and another part, and one that
// merely has the word within, is for training: that is safe to look at.
func Part(path string) (part int, named bool) {
	base := filepath.Base(path)
	found := words.FindAllString(strings.TrimSuffix(base, filepath.Ext(base)), -1)
	for i, word := range found {
		found[i] = strings.ToLower(word)
	}
	for _, word := range []string{"train", "training"} {
		if slices.Contains(found, word) {
			return Train, true
		}
	}
	for _, word := range found {
		if p, ok := parts[word]; ok {
			return p, true
		}
	}
	return Train, false
}
