package own

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// saved converts what a program has read.
const saved = `; read it in Python and save numpy.savez("own.npz", ...), or a DataFrame by to_parquet("own.parquet")`

// magics are how files begin that users give for others, and what they are, with what
// converts them.
var magics = []struct{ begin, is string }{
	{"\x93NUMPY", `one array of numpy.save; save all in one file: numpy.savez("own.npz", x=numpy.load("x.npy"), y=numpy.load("y.npy"))`},
	{"PAR1", "Parquet, which data.name = \"parquet-columns\", \"parquet\" and \"parquet-text\" read"},
	{"PK\x03", "a zip archive, such as Excel's, or a part of one; unpack it, save its sheet as CSV, or copy it again"},
	{"\x89HDF", "HDF5" + saved},
	{"MATLAB 5", "a file of MATLAB" + saved},
	{"\x80", `a pickle; numpy.savez("own.npz", **pickle.load(open("own.pkl", "rb"))) converts a dict of arrays`},
	{"\x1f\x8b", "packed by gzip; unpack it: gunzip -c PACKED > UNPACKED"},
	{"BZh", "packed by bzip2; unpack it: bunzip2 -c PACKED > UNPACKED"},
	{"\xfd7zXZ", "packed by xz; unpack it: unxz -c PACKED > UNPACKED"},
	{"ARROW1", "an Arrow (Feather) file" + saved},
	{"{", "JSON" + saved},
	{"[{", "JSON" + saved},
	{"@relation", "ARFF" + saved},
	{"version https://git-lfs", "a pointer of Git LFS; fetch the file itself: git lfs pull"},
	{"<!DOCTYPE", "a page of the web; download the file itself"},
	{"<html", "a page of the web; download the file itself"},
	{"SQLite format", "an SQLite database" + saved},
}

// svm matches the beginning of a file of LIBSVM.
var svm = regexp.MustCompile(`^[-+]?[\d.]+ (qid:\d+ )?\d+:[-+\d.]`)

// Instead returns the error of a file that cannot be read, or one that says what it is instead of such files.
func Instead(path, such string, err error) error {
	if is := Kind(path); err != nil && is != "" && !strings.HasPrefix(is, such) {
		return fmt.Errorf("%s is %s", path, is)
	}
	return err
}

// Kind says what a file seems to be, "" where it is not known.
func Kind(path string) string {
	f, err := regular.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was read only
	head := make([]byte, 64)
	n, _ := f.Read(head)
	if svm.Match(head[:n]) {
		return "of LIBSVM; x, y = sklearn.datasets.load_svmlight_file(...), and save x.toarray()"
	}
	for _, m := range magics {
		if strings.HasPrefix(string(head[:n]), m.begin) {
			name, unpacked := filepath.Base(path), "unpacked.npz"
			if within := strings.TrimSuffix(name, filepath.Ext(name)); filepath.Ext(within) != "" {
				unpacked = within
			}
			return strings.NewReplacer("UNPACKED", unpacked, "PACKED", name).Replace(m.is)
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
	words = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|\p{Han}+`)
	parts = map[string]int{
		"train": Train, "training": Train, "traindata": Train, "trainset": Train, "testdata": Test, "testset": Test,
		"trainingsdaten": Train, "testdaten": Test, "训练": Train, "训练集": Train, "测试": Test, "测试集": Test,
		"验证": Valid, "验证集": Valid,
		"test": Test, "tests": Test, "testing": Test, "tst": Test, "holdout": Test, "heldout": Test,
		"val": Valid, "valid": Valid, "validation": Valid, "validate": Valid, "dev": Valid, "eval": Valid, "evaluation": Valid,
	}
)

// Part says which part of the samples a file or a folder holds, by the words of its name;
// named is false where none says so. A name that says train and another part, and one that
// merely has the letters within, is for training: that is safe to look at.
func Part(path string) (part int, named bool) {
	base := filepath.Base(path)
	found := list.Of(words.FindAllString(strings.TrimSuffix(base, filepath.Ext(base)), -1), strings.ToLower)
	found = append(found, strings.Join(found, "")) // held-out
	if slices.Contains(found, "train") || slices.Contains(found, "training") {
		return Train, true
	}
	for _, word := range found {
		if p, ok := parts[word]; ok {
			return p, true
		}
	}
	return Train, false
}

// splits are names of columns that say it of rows.
var splits = regexp.MustCompile(`(?i)^(split|subset|is_?(train|test|val)\w*)$`)

// Splits reports whether a column, by its name or by all of its values, says which rows are for testing.
func Splits(name string, values []string) bool {
	found := map[int]bool{}
	for _, value := range values {
		part, is := parts[strings.ToLower(value)]
		if found[part] = true; !is {
			return splits.MatchString(name)
		}
	}
	return len(found) > 1 || splits.MatchString(name)
}

// anyPart matches a word that says which part of the samples something holds, the longest one.
var anyPart = "(" + strings.Join(slices.SortedFunc(maps.Keys(parts), func(a, b string) int {
	return len(b) - len(a)
}), "|") + ")"

var (
	// ends are such words at an end of the name of a client's file.
	ends = regexp.MustCompile(`(?i)[-_. ]\(?` + anyPart + `\)?$|^` + anyPart + `[-_. ]`)
	// within are those in a plain name.
	within = regexp.MustCompile(anyPart + "(data|set|split)?")
)

// Folders returns the parts that folders hold by their names: a word for it alone, such as test or Test_Set, or with
// what another has beside the word for another part, such as seg_test and seg_train. Notes name these, and others that
// have such a word.
func Folders(names []string) (all map[string]int, notes []string) {
	rest := func(name string) string { return within.ReplaceAllString(plain(name+"."), "") }
	all, kinds := map[string]int{}, map[string]int{}
	for _, name := range names {
		if part, named := Part(name + "."); named {
			all[name], kinds[rest(name)] = part, kinds[rest(name)]|1<<part
		}
	}
	var others []string
	for name, part := range all {
		if rest(name) != "" && kinds[rest(name)] == 1<<part {
			delete(all, name)
			others = append(others, name)
		}
	}
	slices.Sort(others)
	if named := slices.Sorted(maps.Keys(all)); named != nil {
		notes = append(notes, "folders for training, testing or validation, by their names: "+oneline.Names(named))
	}
	if others != nil {
		notes = append(notes, "folders of clients or classes, though their names have words such as test: "+
			oneline.Names(others)+"; one of test samples is called test")
	}
	return all, notes
}

// Client returns the client whose samples a file holds: its name without the word for a part, or that of its folder
// where there is nothing else.
func Client(path string) string {
	base, _ := Base(path)
	if _, is := parts[strings.ToLower(base)]; is {
		return filepath.Base(filepath.Dir(path))
	}
	return cmp.Or(ends.ReplaceAllString(base, ""), base)
}

// atEnd reports whether the name of a file ends in a word that says which part it holds, before its number.
func atEnd(base string) bool {
	found := words.FindAllString(base, -1)
	for len(found) > 1 && after.MatchString(found[len(found)-1]) {
		found = found[:len(found)-1]
	}
	_, is := parts[strings.ToLower(found[len(found)-1])]
	_, joined := parts[strings.ToLower(strings.Join(found, ""))]
	return is || joined
}

// after matches what may come after the word.
var after = regexp.MustCompile(`(?i)^(of|data|set|split)$`)

// plain leaves the letters and digits of the name of a file, small ones.
func plain(path string) string {
	base, _ := Base(path)
	return strings.Join(letters.FindAllString(strings.ToLower(base), -1), "")
}

var letters = regexp.MustCompile(`[\pL\d]+`)

// paired returns the part that a file is for by a word at the beginning or the end of its name, where one of all files,
// whose names are plain, has the same name with train. The ends tr and te, which are also languages, say it where short
// is set: all have them.
func paired(base string, all []string, short bool) (part int) {
	for _, word := range append(slices.Sorted(maps.Keys(parts)), "te") {
		before, last := strings.CutSuffix(base, word)
		after, first := strings.CutPrefix(base, word)
		part, trains := parts[word], []string{"train", "training"}
		if word == "te" {
			part, trains = Test, []string{"tr"}
		}
		for _, train := range trains {
			is := last && slices.Contains(all, before+train) || first && slices.Contains(all, train+after)
			if is && part != Train && (short || train != "tr") {
				return part
			}
		}
	}
	return Train
}

var shorts = regexp.MustCompile(`^t[re]|t[re]$`)

// packings are the ends of the names of packed files.
var packings = regexp.MustCompile(`\.(gz|zst)$`)

// Base cuts .gz or .zst off the name of a file, and then its ending, in small letters.
func Base(path string) (base, ending string) {
	name := packings.ReplaceAllString(filepath.Base(path), "")
	ending = filepath.Ext(name)
	return strings.TrimSuffix(name, ending), strings.ToLower(ending)
}

// split returns the paths of a list with commas between; one that is there as a whole is no list.
func split(path string) []string {
	if _, err := os.Stat(path); err == nil || !strings.Contains(path, ",") {
		return []string{path}
	}
	return list.Of(strings.Split(path, ","), strings.TrimSpace)
}

// Join returns a path, each of a list, as one from a folder, unless it is absolute.
func Join(folder, path string) string {
	join := func(path string) string {
		switch {
		case path == "": // not the folder
			return path
		case filepath.IsAbs(path):
			return filepath.Clean(path)
		}
		return filepath.Join(folder, path)
	}
	if _, err := os.Stat(join(path)); err == nil {
		return join(path)
	}
	return strings.Join(list.Of(split(path), join), ",")
}

// IsThere reports whether there is a file or a folder at a path, for each pattern and path of a list.
func IsThere(path string) bool {
	for _, one := range split(path) {
		found, _ := filepath.Glob(one) // a wrong pattern matches nothing
		if _, err := os.Stat(one); errors.Is(err, fs.ErrNotExist) && found == nil {
			return false
		}
	}
	return true
}

// match lists the files of paths and patterns with commas between, and which of them are named as they are.
func match(path string) (files, named []string, err error) {
	for _, one := range split(path) {
		found, _ := filepath.Glob(one) // a wrong pattern matches nothing
		if info, err := os.Stat(one); err == nil && info.IsDir() {
			return nil, nil, fmt.Errorf("data.path = %q: %s is a folder; list its files, such as %[2]s/*", path, one)
		} else if err == nil {
			found, named = []string{one}, append(named, one)
		}
		if found == nil && strings.Contains(path, ",") {
			return nil, nil, fmt.Errorf("data.path = %q: no such file as %s", path, oneline.Name(one))
		}
		before := files
		files = append(files, list.Where(found, func(f string) bool { return !slices.Contains(before, f) })...)
	}
	return files, named, nil
}

// Find lists the files of training and of test samples at a path: one file, those of paths and patterns with commas
// between, or those of a folder, or of its folder data, and of folders there that are named for a part. It leaves out
// those that are not named and lack the first of some endings that any has. Files, or their folders, whose names have
// the word test, at the end unless some say train, are for testing, and those of validation where there are none.
// Notes say which these are, and what it leaves out.
func Find(path string, endings ...string) (train, test, notes []string, err error) {
	info, err := os.Stat(path)
	pattern := err != nil && strings.ContainsAny(path, "*?[,")
	var files, listed []string
	if pattern {
		files, listed, err = match(path)
	}
	switch {
	case err != nil:
		return nil, nil, nil, err
	case !pattern && !info.IsDir():
		return []string{path}, nil, nil, nil
	}
	for _, dir := range []string{path, filepath.Join(path, "data")} {
		if !pattern {
			files = filesIn(dir)
		}
		files = list.Where(files, func(f string) bool { // ._a.csv is of a Mac, ~$a.csv of Excel
			return !strings.ContainsAny(filepath.Base(f)[:1], ".~") || slices.Contains(listed, f)
		})
		i := slices.IndexFunc(endings, func(ending string) bool {
			return slices.ContainsFunc(files, func(f string) bool { _, has := Base(f); return has == ending })
		})
		var left, valid, bases, within []string
		trains := false // some name says train
		for _, f := range files {
			base, _ := Base(f)
			part, named := Part(base + ".")
			bases, trains = append(bases, plain(f)), trains || named && part == Train
		}
		short := !slices.ContainsFunc(bases, func(base string) bool { return !shorts.MatchString(base) })
		for _, f := range files {
			base, ending := Base(f)
			part, named := Part(base + ".")
			folder, foldered := Part(filepath.Dir(f))
			switch {
			case !named && foldered && filepath.Dir(f) != filepath.Clean(dir):
				part = folder
			case !named:
				part = paired(plain(f), bases, short)
			case i >= 0 && ending == endings[i] && part != Train && !trains && !atEnd(base):
				part, within = Train, append(within, f)
			}
			to := map[int]*[]string{Train: &train, Test: &test, Valid: &valid}[part]
			plain := packings.ReplaceAllString(f, "") // which is there, too, if f is packed
			if (i < 0 || ending != endings[i] || plain != f && slices.Contains(files, plain)) && !slices.Contains(listed, f) {
				to = &left
			}
			*to = append(*to, f)
		}
		if len(test) == 0 {
			test, valid = valid, nil
		}
		note := func(what string, files []string) {
			for i, f := range files {
				files[i] = strings.TrimPrefix(filepath.ToSlash(f), filepath.ToSlash(filepath.Clean(path))+"/")
			}
			if len(files) > 0 {
				notes = append(notes, what+strings.ReplaceAll(oneline.Names(files), `"`, ""))
			}
		}
		note("files that are left out: ", append(left, valid...))
		note("files with test samples, by their names: ", slices.Clone(test))
		note("files for training, though their names have words such as test: ", within)
		if len(train) > 0 {
			return train, test, notes, nil
		}
	}
	there, _ := filepath.Glob(filepath.Join(quoted.Replace(path), "*"))
	what := "but " + cmp.Or(oneline.Names(list.Of(there, filepath.Base)), "nothing")
	deeper := filepath.Join("*", "*"+endings[0])
	if below, _ := filepath.Glob(filepath.Join(quoted.Replace(path), deeper)); below != nil {
		what = fmt.Sprintf("but in its folders: data.path = %q reads these", filepath.Join(path, deeper))
	}
	for _, deep := range []string{"*", "*/*", "*/*/*"} {
		if below, _ := filepath.Glob(filepath.Join(quoted.Replace(path), deep, "*.[pj][np]*g")); below != nil {
			what = `but pictures in its folders, which data.name = "image-folder" reads`
		}
	}
	endingsOf := strings.Join(endings, ", ")
	return nil, nil, nil, fmt.Errorf("%s: no %s file of training samples in it, nor in data/, %s", path, endingsOf, what)
}

// filesIn lists the files in a folder and in its folders that are named for a part of the samples.
func filesIn(dir string) []string {
	var files []string
	entries, _ := os.ReadDir(dir) // data may be missing
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		switch _, named := Part(path); {
		case strings.HasPrefix(e.Name(), "."):
		case err != nil || !info.IsDir(): // a link that leads nowhere is told when it is opened
			files = append(files, path)
		case named:
			below, _ := filepath.Glob(filepath.Join(quoted.Replace(path), "*.*"))
			files = append(files, below...)
		}
	}
	return files
}

// quoted has the letters of patterns stand for themselves.
var quoted = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
