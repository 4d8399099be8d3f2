package command

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// launchFolder has the files by which workers are started on many machines.
var launchFolder = filepath.Join("..", "..", "..", "fl", "study", "cluster", "launch")

// TestLaunchCommands takes the command lines out of the files that start workers: the
// program has the commands and the flags.
func TestLaunchCommands(t *testing.T) {
	list := `\[((?:tune|worker|"worker")[^]]*)\]`
	plain := `(?:fedfast}?"?) +((?:tune|worker) [^&\n]*)`
	for name, want := range map[string]struct {
		commands int
		pattern  string
	}{
		"Dockerfile":             {1, list},
		"kubernetes.yaml":        {2, list},
		"fedfast-worker.service": {1, plain},
		"ssh.sh":                 {2, plain}, // and one in its first lines
		"slurm.sh":               {3, plain},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(launchFolder, name))
			if err != nil {
				t.Fatal(err)
			}
			found := regexp.MustCompile(want.pattern).FindAllStringSubmatch(string(text), -1)
			if len(found) != want.commands {
				t.Fatalf("%d command lines, want %d: %q", len(found), want.commands, found)
			}
			for _, line := range found {
				var args []string
				for _, arg := range strings.FieldsFunc(line[1], func(r rune) bool { return r == ',' || r == ' ' }) {
					args = append(args, strings.NewReplacer(`\`, "", `"`, "", "${SLURM_CPUS_PER_TASK:-1}", "1", "$cpus",
						"1").Replace(strings.TrimSuffix(arg, ".")))
				}
				a := &app{out: io.Discard, err: io.Discard, logs: &logs{to: io.Discard}}
				cmd, rest, err := a.root().Find(args)
				if err != nil || cmd.Name() != args[0] {
					t.Errorf("%q: %v", args, err)
					continue
				}
				if err := cmd.ParseFlags(rest); err != nil {
					t.Errorf("%q: %v", args, err)
				}
			}
		})
	}
}
