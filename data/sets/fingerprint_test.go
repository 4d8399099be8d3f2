package sets_test

import (
	"regexp"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// TestFingerprint: what is made of the files changes nothing, what the files
// hold changes it, whether or not the numbers of samples do.
func TestFingerprint(t *testing.T) {
	open := func(set, first, second string, changes ...func(*data.Config)) string {
		dir := settest.Folder(t, map[string]string{
			"train/1.json": settest.FEMNIST("b", 12, first),
			"train/2.json": settest.FEMNIST("c", 12, second), "test/1.json": settest.FEMNIST("b", 4, "1.0"),
		})
		cfg := data.Config{Name: set, Path: dir, MinSamples: 1}
		for _, f := range changes {
			f(&cfg)
		}
		return settest.Open(t, cfg).Fingerprint
	}
	const set = "leaf-femnist"
	want := open(set, "0.2", "0.4")
	if !regexp.MustCompile("^[0-9a-f]{16}$").MatchString(want) {
		t.Fatalf("fingerprint %q", want)
	}
	for name, change := range map[string]func(*data.Config){
		"another seed":   func(c *data.Config) { c.IID, c.Seed = new(true), 7 },
		"another split":  func(c *data.Config) { c.Split = "files" },
		"fewer samples":  func(c *data.Config) { c.MaxSamples = 5 },
		"fewer clients":  func(c *data.Config) { c.Clients = 1 },
		"dealt to three": func(c *data.Config) { c.Partition, c.Clients = "iid", 3 },
	} {
		if got := open(set, "0.2", "0.4", change); got != want {
			t.Errorf("%s: fingerprint %s, must be %s", name, got, want)
		}
	}
	if got := open(set, "0.2", "0.6"); got == want {
		t.Error("other pixels of one client have the same fingerprint")
	}
	pictures := settest.Folder(t, map[string]string{
		"data_batch_1.bin": settest.CIFAR10(200),
		"test_batch.bin":   settest.CIFAR10(40),
	})
	dealt := func(c data.Config) string {
		c.Name, c.Path, c.MinSamples = "cifar10", pictures, 1
		return settest.Open(t, c).Fingerprint
	}
	cifar := dealt(data.Config{Clients: 10, Split: "80/20/files"})
	if again := dealt(data.Config{Seed: 3, Clients: 4, Split: "80/10/10"}); again != cifar || cifar == want {
		t.Errorf("fingerprints %q and %q of the same pictures", cifar, again)
	}
	if fed := settest.Open(t, data.Config{Name: "glyphs", Clients: 3, MinSamples: 1}); fed.Fingerprint != "" {
		t.Errorf("the fingerprint %s of a set that is drawn", fed.Fingerprint)
	}
}
