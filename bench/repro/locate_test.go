package repro

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLocate(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{"femnist/train/a.json", "shakespeare/moby/raw_data.txt.gz"} {
		path := filepath.Join(root, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range [][2]string{{root, "femnist"}, {filepath.Join(root, "femnist"), "femnist"}} {
		if got, err := Locate("leaf-femnist", c[0]); err != nil || got != filepath.Join(root, c[1]) {
			t.Errorf("%s: %s, %v", c[0], got, err)
		}
	}
	if got, err := Locate("leaf-shakespeare", root); err != nil || filepath.Base(got) != "raw_data.txt.gz" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := Locate("cifar100", root); err == nil || !strings.Contains(err.Error(),
		"there is no train.bin.gz or train.bin in") {
		t.Errorf("got %v", err)
	}
	if _, err := Locate("stackoverflow", ""); err == nil || !strings.Contains(err.Error(),
		"neither --data nor FEDFAST_DATA is set") {
		t.Errorf("got %v", err)
	}
}
