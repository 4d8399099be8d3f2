package powercut

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// workerEnv makes TestWorker do what a program would, in a folder.
const workerEnv = "FEDFAST_TEST_POWERCUT"

// TestWorker writes a file in each of the ways that programs have.
func TestWorker(t *testing.T) {
	dir := os.Getenv(workerEnv)
	if dir == "" {
		t.Skip("it is the program that other tests trace")
	}
	write := func(name string, sync bool) {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"abcd", "efgh"} {
			if _, err := f.WriteString(text); err != nil {
				t.Fatal(err)
			}
		}
		if sync {
			err = f.Sync()
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	folder := func() {
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write("careless", false)
	write("renamed", false)
	write("careful", true)
	for _, name := range []string{"renamed", "careful"} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+".txt")); err != nil {
			t.Fatal(err)
		}
	}
	folder()
	if err := os.Mkdir(filepath.Join(dir, "after"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "careful.txt")); err != nil {
		t.Fatal(err)
	}
}

// TestStates finds what each way of writing risks.
func TestStates(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log, err := Trace(dir, exe, []string{"-test.run=^TestWorker$"}, append(os.Environ(), workerEnv+"="+dir))
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]int{} // how often each file had which content
	states := log.States(func(string) bool { return false })
	for i, s := range states {
		left := t.TempDir()
		if err := s.Write(left); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"careless", "renamed.txt", "careful", "careful.txt", "after"} {
			text := "none"
			if info, err := os.Stat(filepath.Join(left, name)); err == nil && info.IsDir() {
				text = "folder"
			} else if content, err := os.ReadFile(filepath.Join(left, name)); err == nil {
				text = string(content)
			}
			if found[name] == nil {
				found[name] = map[string]int{}
			}
			found[name][text]++
		}
		if found["after"]["folder"] == i+1 {
			t.Errorf("%s: a folder is there from the beginning", s.When)
		}
	}
	zeros := string(make([]byte, 8))
	for name, want := range map[string][]string{
		"careless":    {"none", "", "abcdef", zeros, zeros[:6] + "gh", "abcdefgh"},
		"renamed.txt": {"none", "", "abcdef", zeros, zeros[:6] + "gh", "abcdefgh"},
		"careful.txt": {"none", "abcdefgh"},
		"after":       {"none", "folder"},
	} {
		for _, text := range want {
			if found[name][text] == 0 {
				t.Errorf("%s is never %q", name, text)
			}
			delete(found[name], text)
		}
		if len(found[name]) > 0 {
			t.Errorf("%s may also be %v", name, found[name])
		}
	}
	if found["careful"]["none"] == 0 || found["careful"]["abcdef"] == 0 || found["careful"]["abcdefgh"] == 0 {
		t.Errorf("a file before its sync and its new name is %v", found["careful"])
	}
	if each := EachCut(states); len(each) < 10 || len(each) >= len(states) || each[1].Cut == each[0].Cut {
		t.Errorf("%d cuts leave %d states", len(each), len(states))
	}
	again := log.States(func(string) bool { return false })
	if !slices.EqualFunc(states, again, func(a, b State) bool { return a.When == b.When }) {
		t.Error("the states have another order each time")
	}
	t.Logf("%d states of %d steps", len(states), len(log.steps))
	if few := log.States(func(name string) bool { return name != "careful" }); len(few) >= len(states)/2 {
		t.Errorf("%d states without what is lost of three files", len(few))
	}
}

func TestFailedProgram(t *testing.T) {
	_, err := Trace(t.TempDir(), "false", nil, nil)
	if err == nil {
		t.Error("a program that fails is traced without an error")
	}
}
