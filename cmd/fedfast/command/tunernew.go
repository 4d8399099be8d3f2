package command

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/internal/scaffold"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

func newTunerNew(a *app) *cobra.Command {
	p := scaffold.Project{}
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Create a project for a new tuner in Go, Python or with Optuna",
		Args:  cobra.ExactArgs(1),
		RunE: a.work(func(_ *cobra.Command, args []string) error {
			p.Name = args[0]
			return a.newTunerProject(p)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&p.Language, "lang", scaffold.Go, "programming `LANGUAGE`: go, python, or optuna (Python with a sampler and a pruner of Optuna)")
	f.StringVar(&p.Dir, "dir", "", "create the project in `DIR` (default NAME)")
	f.StringVar(&p.Checkout, "checkout", "", "for go: `DIR` of a fedfast checkout to build with (default: the one containing the current directory or this binary, else a release)")
	return cmd
}

// newTunerProject writes a project and says what to do next.
func (a *app) newTunerProject(p scaffold.Project) error {
	p.Dir = cmp.Or(p.Dir, p.Name)
	if p.Language == scaffold.Go {
		self, _ := os.Executable() // else ""
		from := []string{".", filepath.Dir(self)}
		if p.Checkout != "" {
			from = []string{p.Checkout}
		}
		found := scaffold.FindCheckout(from...)
		if found == "" && p.Checkout != "" {
			return usageError{fmt.Errorf("--checkout %s: not a fedfast checkout", p.Checkout)}
		}
		p.Checkout, p.Version = found, release()
	}
	if err := p.Write(); err != nil {
		return usageError{err}
	}
	var steps, note string
	switch p.Language {
	case scaffold.Python:
		steps, note = pythonSteps("grpcio", "import grpc, google.protobuf")
	case scaffold.Optuna:
		steps, note = pythonSteps("grpcio or Optuna", "import grpc, google.protobuf, optuna")
	default:
		steps = fmt.Sprintf("go test . && go build -o %s .", p.Program())
		if p.Checkout == "" {
			steps = "go mod tidy && " + steps
		}
	}
	if a.json {
		return a.printJSON(map[string]string{"dir": p.Dir, "program": p.Program(), "next": steps, "note": strings.TrimSpace(note)})
	}
	_, err := fmt.Fprintf(a.out, "created a working tuner in %s; see its README.md. Next:\n\n  cd %s && %s\n  fedfast tuner check ./%s\n%s",
		p.Dir, oneline.Path(p.Dir), steps, p.Program(), note)
	return err
}

// pythonSteps returns the command that tests a project in Python, by a python3 that can import what the
// project needs, and a note where there is none.
func pythonSteps(lacks, imports string) (steps, note string) {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", imports).Run() == nil {
			return name + " -m unittest", ""
		}
	}
	return "python3 -m unittest", "\n" + lacks + " is not installed; see README.md\n"
}

// releaseForm is what versions of releases look like.
var releaseForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// release returns the version of this program when it was built from a release,
// else "".
func release() string {
	if info, ok := debug.ReadBuildInfo(); ok && releaseForm.MatchString(info.Main.Version) {
		return info.Main.Version
	}
	return ""
}
