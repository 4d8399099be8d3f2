package fetch

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Set is what can be fetched by a name: that of a set of package data.
type Set struct {
	Name string `json:"name"`
	// Data is the set of package data that reads the files.
	Data string `json:"data"`
	// Note tells what else is needed; "" for most sets.
	Note string `json:"note,omitempty"`
	// Raw says that Data cannot read the files before something else was made of
	// them, as Note tells.
	Raw   bool   `json:"-"`
	Files []File `json:"files"`
}

// File is one file of a set. Zero lengths and empty checksums are not known.
type File struct {
	// Name is the file's at its place and below Options.From.
	Name string   `json:"name"`
	URLs []string `json:"urls"`
	Size int64    `json:"size,omitempty"`
	// SHA256 and MD5 are in hexadecimal.
	SHA256 string `json:"sha256,omitempty"`
	MD5    string `json:"md5,omitempty"`
	// Hint says that length and checksums come from third parties: what differs
	// from them is told, not refused.
	Hint bool `json:"hint"`
	// Gives are the files and folders in it if it is an archive that is to be
	// unpacked.
	Gives []string `json:"gives,omitempty"`
	// Holds are the files that one of the folders in Gives must hold.
	Holds []string `json:"-"`
	// Renames give members of the archive another name.
	Renames map[string]string `json:"-"`
}

// Public places.
const (
	tffBase    = "https://storage.googleapis.com/tff-datasets-public/"
	fedmlBase  = "https://fedml.s3-us-west-1.amazonaws.com/"
	cifarBase  = "https://www.cs.toronto.edu/~kriz/"
	cifarBase2 = "https://cave.cs.toronto.edu/kriz/"
	mnistBase  = "https://ossci-datasets.s3.amazonaws.com/mnist/"
	mnistBase2 = "http://yann.lecun.com/exdb/mnist/"
	fashion    = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
	fashion2   = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
	qmnistBase = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/"
	nistBase   = "https://s3.amazonaws.com/nist-srd/SD19/"
)

// from returns a file at the places whose addresses begin with the bases.
func from(f File, bases ...string) File {
	for _, b := range bases {
		f.URLs = append(f.URLs, b+f.Name)
	}
	f.Name = path.Base(f.Name)
	return f
}

// Sets returns all that can be fetched, in the order in which it is listed. The
// lengths and checksums are those that LEAF, TensorFlow Federated,
// torchvision and QMNIST state, or hints.
func Sets() []Set {
	emnist := from(File{Name: "emnist_all.sqlite.lzma", Size: 170507172, SHA256: "c3aaf91b4cf4e69d53d81627ad119eccdc878ff906f68e66063ff10f67faad48", Hint: true}, tffBase)
	words := from(File{
		Name:   "stackoverflow.word_count.tar.bz2",
		SHA256: "1dc00256d6e527c54b9756d968118378ae14e6692c0b3b6cad470cdd3f0c519c",
		Gives:  []string{"stackoverflow.word_count"},
	}, tffBase, fedmlBase)
	sentences := from(File{Name: "stackoverflow.sqlite.lzma"}, tffBase)
	return []Set{
		{Name: "leaf-shakespeare", Data: "leaf-shakespeare", Files: []File{{
			Name:  "1994-01-100.zip",
			URLs:  []string{"https://www.gutenberg.org/files/100/old/old/1994-01-100.zip", "http://www.gutenberg.org/files/100/old/1994-01-100.zip"},
			Gives: []string{"raw_data.txt"}, Renames: map[string]string{"100.txt": "raw_data.txt"},
		}}},
		{Name: "leaf-femnist", Data: "leaf-femnist", Raw: true, Note: "these are the scans of NIST's Special Database 19, " +
			"which fedfast does not read: LEAF's scripts (github.com/TalwalkarLab/leaf, data/femnist) make the JSON files " +
			"that it reads from the two archives; tff-femnist is the same handwriting, ready to be read", Files: []File{
			from(File{Name: "by_class.zip", MD5: "79572b1694a8506f2b722c7be54130c4", Hint: true}, nistBase),
			from(File{Name: "by_write.zip", Size: 568113446, MD5: "a29f21babf83db0bb28a2f77b2b456cb", Hint: true}, nistBase),
		}},
		{Name: "mnist", Data: "mnist", Files: mnistFiles()},
		{Name: "qmnist", Data: "qmnist", Files: append(mnistFiles(),
			from(File{Name: "qmnist-train-labels-idx2-int.gz", Size: 463024, MD5: "0058f8dd561b90ffdd0f734c6a30e5e4"}, qmnistBase),
			from(File{Name: "qmnist-test-labels-idx2-int.gz", Size: 526800, MD5: "5b5b05890a5e13444e108efe57b788aa"}, qmnistBase),
		)},
		{Name: "fashion-mnist", Data: "fashion-mnist", Files: []File{
			from(File{Name: "train-images-idx3-ubyte.gz", MD5: "8d4fb7e6c68d591d4c3dfef9ec88bf0d"}, fashion, fashion2),
			from(File{Name: "train-labels-idx1-ubyte.gz", MD5: "25c81989df183df01b3e8a0aad5dffbe"}, fashion, fashion2),
			from(File{Name: "t10k-images-idx3-ubyte.gz", MD5: "bef4ecab320f06d8554ea6380940ec79"}, fashion, fashion2),
			from(File{Name: "t10k-labels-idx1-ubyte.gz", MD5: "bb300cfdad3c16e7a12a480ee83cd310"}, fashion, fashion2),
		}},
		{Name: "cifar10", Data: "cifar10", Files: []File{
			// The MD5 is on the authors' page.
			from(File{Name: "cifar-10-binary.tar.gz", MD5: "c32a1d4ab5d03f1284b67883e8d87530", Gives: []string{"cifar-10-batches-bin"}, Holds: []string{
				"cifar-10-batches-bin/data_batch_1.bin", "cifar-10-batches-bin/data_batch_5.bin", "cifar-10-batches-bin/test_batch.bin",
			}}, cifarBase, cifarBase2),
		}},
		{Name: "cifar100", Data: "cifar100", Files: []File{
			from(File{Name: "cifar-100-binary.tar.gz", MD5: "03b5dce01913d631647c71ecec9e9cb8", Hint: true, Gives: []string{"cifar-100-binary"}, Holds: []string{
				"cifar-100-binary/train.bin", "cifar-100-binary/test.bin",
			}}, cifarBase, cifarBase2),
		}},
		{Name: "tff-femnist", Data: "tff-femnist", Files: []File{emnist}},
		{Name: "tff-femnist-digits", Data: "tff-femnist-digits", Files: []File{emnist}},
		{Name: "tff-shakespeare", Data: "tff-shakespeare", Files: []File{
			from(File{Name: "shakespeare.sqlite.lzma", Size: 1329828, SHA256: "d3d11fceb9e105439ac6f4d52af6efafed5a2a1e1eb24c5bd2dd54ced242f5c4"}, tffBase),
		}},
		{Name: "tff-cifar100", Data: "tff-cifar100", Files: []File{
			from(File{Name: "cifar100.sqlite.lzma", Size: 153019920, SHA256: "23d3916c9caa33395737ee560cc7cb77bbd05fc7b73647ee7be3a7e764172939"}, tffBase),
		}},
		{Name: "stackoverflow", Data: "stackoverflow", Files: []File{
			words,
			sentences,
		}},
		{Name: "stackoverflow-tags", Data: "stackoverflow-tags", Files: []File{
			words,
			from(File{Name: "stackoverflow.tag_count.tar.bz2", SHA256: "6fe281cec490d9384a290d560072438e7e2b377bbb823876ce7bd6f82696772d", Gives: []string{"stackoverflow.tag_count"}}, tffBase, fedmlBase),
			sentences,
		}},
	}
}

// mnistFiles returns MNIST's files.
func mnistFiles() []File {
	return []File{
		from(File{Name: "train-images-idx3-ubyte.gz", Size: 9912422, MD5: "f68b3c2dcbeaaa9fbdd348bbdeb94873"}, mnistBase, mnistBase2),
		from(File{Name: "train-labels-idx1-ubyte.gz", Size: 28881, MD5: "d53e105ee54ea40749a09fcbcd1e9432"}, mnistBase, mnistBase2),
		from(File{Name: "t10k-images-idx3-ubyte.gz", Size: 1648877, MD5: "9fb629c4189551a2d022fa330f9573f3"}, mnistBase, mnistBase2),
		from(File{Name: "t10k-labels-idx1-ubyte.gz", Size: 4542, MD5: "ec29112dd5afa0611ce80d1b7f02629c"}, mnistBase, mnistBase2),
	}
}

// most is the number of bytes that the file can have at most.
func (f *File) most() int64 {
	switch {
	case f.Size == 0:
		return maxSize
	case f.Hint: // another edition of it
		return 2*f.Size + 1<<20
	}
	return f.Size
}

// packed reports whether the file is an archive to unpack.
func (f *File) packed() bool { return len(f.Gives) > 0 }

// gives returns the names that the file leaves in the folder.
func (f *File) gives() []string {
	if f.packed() {
		return f.Gives
	}
	return []string{f.Name}
}

// present reports whether all that the file gives is in a folder. What is there is
// whole: it got its name at the end.
func (f *File) present(dir string) bool {
	return !slices.ContainsFunc(f.gives(), func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err != nil
	})
}

// magics are the first bytes of the kinds of files, by the ends of their names.
var magics = []struct{ suffix, magic string }{
	{".gz", "\x1f\x8b"},
	{".bz2", "BZh"},
	{".zip", "PK"},
	{".lzma", "\x5d\x00\x00"},
	{".sqlite", "SQLite format 3\x00"},
}

// magic returns the first bytes of the file's kind.
func (f *File) magic() string {
	for _, m := range magics {
		if strings.HasSuffix(f.Name, m.suffix) {
			return m.magic
		}
	}
	return ""
}

// Find returns the set of a name.
func Find(name string) (*Set, error) {
	var all []string
	for _, s := range Sets() {
		if s.Name == name {
			return &s, nil
		}
		all = append(all, s.Name)
	}
	return nil, fmt.Errorf("unknown dataset %q; available: %s", name, strings.Join(all, ", "))
}
