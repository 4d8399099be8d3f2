package data

import (
	"regexp"
	"testing"
)

// TestFingerprint: what is made of the files changes nothing, what the files
// hold changes it, whether or not the numbers of samples do.
func TestFingerprint(t *testing.T) {
	open := func(set, first, second string, changes ...func(*Config)) string {
		dir := folder(t, map[string]string{"train/1.json": femnistJSON("b", 12, first), "train/2.json": femnistJSON("c", 12, second), "test/1.json": femnistJSON("b", 4, "1.0")})
		cfg := Config{Name: set, Path: dir, MinSamples: 1}
		for _, f := range changes {
			f(&cfg)
		}
		return mustOpen(t, cfg).Fingerprint
	}
	const set = "leaf-femnist"
	want := open(set, "0.2", "0.4")
	if !regexp.MustCompile("^[0-9a-f]{16}$").MatchString(want) {
		t.Fatalf("fingerprint %q", want)
	}
	for name, change := range map[string]func(*Config){
		"another seed":   func(c *Config) { c.IID, c.Seed = new(true), 7 },
		"another split":  func(c *Config) { c.Split = "files" },
		"fewer samples":  func(c *Config) { c.MaxSamples = 5 },
		"fewer clients":  func(c *Config) { c.Clients = 1 },
		"dealt to three": func(c *Config) { c.Partition, c.Clients = "iid", 3 },
	} {
		if got := open(set, "0.2", "0.4", change); got != want {
			t.Errorf("%s: fingerprint %s, must be %s", name, got, want)
		}
	}
	if got := open(set, "0.2", "0.6"); got == want {
		t.Error("other pixels of one client have the same fingerprint")
	}
	cifar := openSmallCIFAR(t, func(*Config) {}).Fingerprint
	if again := openSmallCIFAR(t, func(c *Config) { c.Seed, c.Clients, c.Split = 3, 4, "80/10/10" }).Fingerprint; again != cifar || cifar == want {
		t.Errorf("fingerprints %q and %q of the same pictures", cifar, again)
	}
	if fed := mustOpen(t, Config{Name: "glyphs", Clients: 3, MinSamples: 1}); fed.Fingerprint != "" {
		t.Errorf("the fingerprint %s of a set that is drawn", fed.Fingerprint)
	}
}

// TestFingerprintSamples: of many examples only some are looked at, from all of
// the views; a lazy set's are not.
func TestFingerprintSamples(t *testing.T) {
	const n = 3 * fingerprintExamples
	sets := func(changed int) []writer {
		values := make([]float32, n)
		if changed >= 0 {
			values[changed] = 1
		}
		src := &vectors{n: 1, values: values, labels: make([]int32, n)}
		return []writer{{id: "a", train: span(src, 0, 7), test: span(src, 7, 1)}, {id: "b", train: span(src, 8, n/2), test: span(src, 8+n/2, n-8-n/2)}}
	}
	want := mustFingerprint(t, sets(-1), false)
	seen := 0
	for _, at := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, n - 3, n - 2, n - 1} {
		differs := mustFingerprint(t, sets(at), false) != want
		if differs != (at%3 == 0) {
			t.Errorf("a change of example %d is seen: %v", at, differs)
		}
		if differs {
			seen++
		}
	}
	if seen != 5 {
		t.Errorf("%d changes seen, must be 5", seen)
	}
	if mustFingerprint(t, sets(0), true) != mustFingerprint(t, sets(-1), true) {
		t.Error("the examples of a lazy set were read")
	}
	moved := sets(-1)
	moved[0].id = "A"
	if mustFingerprint(t, moved, true) == mustFingerprint(t, sets(-1), true) {
		t.Error("a client of another name has the same fingerprint")
	}
}

func mustFingerprint(t *testing.T, writers []writer, lazy bool) string {
	t.Helper()
	sum, err := fingerprint(writers, lazy)
	must(t, err)
	return sum
}
