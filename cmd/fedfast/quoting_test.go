//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// printed are commands that the program prints for a person to copy.
var printed = regexp.MustCompile("fedfast (?:[a-z]+ )+.*?(?:`|;? see |\n|  |$)|--set data.path=.*?, see ")

// TestPrintedCommandsAreQuoted has a shell take every command that the program prints about a
// study, a script or a file of an odd name: one word of it is that name, and nothing else is run.
func TestPrintedCommandsAreQuoted(t *testing.T) {
	t.Parallel()
	small := []string{"--set", "rounds=1", "--set", "cohort=2", "--set", "data.clients=4", "--set", "data.samples=20"}
	for _, name := range []string{"a b;$(touch X)", "it's", "*&", "a\nb", "right\u202eleft"} {
		dir := t.TempDir()
		fedfast := func(args ...string) string {
			cmd := exec.Command("fedfast", args...)
			cmd.Dir = dir
			out, _ := cmd.CombinedOutput() // most are refused
			return string(out)
		}
		for _, file := range []string{name + ".py", name + ".npz", "plain"} {
			if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		damage := func() string {
			if err := os.WriteFile(filepath.Join(dir, name, "study.db"), []byte(strings.Repeat("no database", 100)),
				0o600); err != nil {
				t.Fatal(err)
			}
			return fedfast("study", "show", name)
		}
		for what, out := range map[string]string{
			"run":         fedfast(append([]string{"run", "--study", name}, small...)...),
			"other mode":  fedfast("tune", "--study", name),
			"other keys":  fedfast("run", "--study", name, "--set", "rounds=2"),
			"as a file":   fedfast("run", name),
			"a script":    fedfast("run", name+".py"),
			"data":        fedfast("run", name+".npz"),
			"ui of a run": fedfast("study", "resume", name, "--ui"),
			"report":      fedfast("report", name) + fedfast("study", "show", name),
			"a tuner":     fedfast("tuner", "new", "mine", "--lang=optuna", "--dir", name+"-tuner"),
			"list":        damage() + fedfast("study", "list", "."),
		} {
			commands := printed.FindAllString(out, -1)
			switch what {
			case "a tuner":
				commands = regexp.MustCompile(`cd .* &&`).FindAllString(out, -1)
			case "other keys": // a flag to copy
				commands = regexp.MustCompile(`--init .*`).FindAllString(out, -1)
			}
			found := 0
			for _, command := range commands {
				command = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(command, "&&"), ", see "), "` \n")
				shell := exec.Command("bash", "-c", `fedfast() { printf '%s\0' "$@"; }; cd() { fedfast "$@"; }; `+
					regexp.MustCompile(`^--(set|init)`).ReplaceAllString(command, "fedfast --$1"))
				shell.Dir = dir
				words, err := shell.Output()
				if err != nil {
					t.Errorf("%q, %s: %s: %v", name, what, command, err)
				}
				if slices.ContainsFunc(strings.Split(string(words), "\x00"), func(w string) bool {
					return slices.Contains([]string{
						name, name + ".py", name + ".npz", "data.path=" + name + ".npz", name + "-tuner",
						name + "/model.safetensors",
					}, w)
				}) {
					found++
				}
			}
			if found == 0 {
				t.Errorf("%q, %s: none of %q names it:\n%s", name, what, commands, out)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "X")); err == nil {
			t.Errorf("%q was run", name)
		}
	}
}
