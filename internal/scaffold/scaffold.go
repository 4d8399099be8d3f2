// Package scaffold writes a project for a new tuner: small, in Go or in Python, also
// with Optuna, and building and passing its own test from the start.
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// The languages of a project.
const (
	Go     = "go"
	Python = "python"
	Optuna = "optuna" // Python, with a sampler and a pruner of Optuna
)

// sdk is the module that a project in Go imports.
const sdk = "github.com/fedfast/fedfast"

// files holds the templates: names that end in .tmpl lose that and have the
// project's names put in, golang/*.txt become go.mod and go.sum, anything else is
// copied. A project with Optuna has the files of optuna in place of Python's.
//
//go:embed golang python/*.tmpl python/fedfast_tuner/*.py optuna
var files embed.FS

// nameForm matches valid names of tuners.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// Project describes what to write.
type Project struct {
	Name     string // of the tuner: lowercase letters, digits, - and _
	Language string // Go, Python or Optuna
	Dir      string // where to; it must not exist, or be empty
	Checkout string // for Go: the directory of fedfast's own module, which is used instead of a release; "" for none
	Version  string // for Go: of the release to require, such as v1.2.3; "" leaves that to `go mod tidy`
}

// Program is the file name of the tuner's program.
func (p Project) Program() string { return "fedfast-tuner-" + p.Name }

// Write writes the project. On an error nothing of it is left.
func (p Project) Write() error {
	if !nameForm.MatchString(p.Name) {
		return fmt.Errorf("invalid tuner name %q: must contain only lowercase letters, digits, - and _", p.Name)
	}
	folders := map[string][]string{Go: {"golang"}, Python: {"python"}, Optuna: {"python", "optuna"}}[p.Language]
	if folders == nil {
		return fmt.Errorf("unknown language %q; must be %s, %s or %s", p.Language, Go, Python, Optuna)
	}
	if err := emptyDir(p.Dir); err != nil {
		return err
	}
	for _, folder := range folders {
		if err := p.copy(folder); err != nil {
			return errors.Join(err, os.RemoveAll(p.Dir))
		}
	}
	return nil
}

// copy writes the files of a folder of templates.
func (p Project) copy(folder string) error {
	return fs.WalkDir(files, folder, func(from string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(from)
		if err != nil {
			return err
		}
		to, content := p.file(strings.TrimPrefix(from, folder+"/"), string(text))
		if content == "" {
			return nil
		}
		mode := fs.FileMode(0o644)
		if to == p.Program() {
			mode = 0o755
		}
		target := filepath.Join(p.Dir, filepath.FromSlash(to))
		if err := wholefile.Folder(filepath.Dir(target)); err != nil {
			return err
		}
		return wholefile.Write(target, []byte(content), mode)
	})
}

// file returns where a template goes and what it becomes.
func (p Project) file(name, text string) (to, content string) {
	switch name {
	case "go.mod.txt":
		return "go.mod", p.goMod(text)
	case "go.sum.txt":
		if p.Checkout == "" {
			return "go.sum", "" // `go mod tidy` makes it
		}
		return "go.sum", text
	}
	if !strings.HasSuffix(name, ".tmpl") {
		return name, text
	}
	name = strings.TrimSuffix(name, ".tmpl")
	switch path.Base(name) {
	case "fedfast-tuner":
		name = p.Program()
	case "gitignore":
		name = ".gitignore"
	}
	needs := `("grpc",)`
	if p.Language == Optuna {
		needs = `("grpc", "optuna")`
	}
	return name, strings.NewReplacer("@NAME@", p.Name, "@CLASS@", class(p.Name), "@PROGRAM@", p.Program(), "@NEEDS@", needs).Replace(text)
}

// goMod turns the go.mod of the example in fedfast's repository into the project's.
// Without a checkout only the release is named.
func (p Project) goMod(example string) string {
	if p.Checkout == "" {
		mod := fmt.Sprintf("module %s\n\ngo %s\n", p.Program(), goVersion(example))
		if p.Version != "" {
			mod += fmt.Sprintf("\nrequire %s %s\n", sdk, p.Version)
		}
		return mod
	}
	var b strings.Builder
	for line := range strings.Lines(example) {
		switch {
		case strings.HasPrefix(line, "module "):
			line = "module " + p.Program() + "\n"
		case strings.HasPrefix(line, "replace "):
			line = fmt.Sprintf("replace %s => %s\n", sdk, quoted(filepath.ToSlash(p.Checkout)))
		}
		b.WriteString(line)
	}
	return b.String()
}

// goVersion reads the go line of a go.mod.
func goVersion(mod string) string {
	for line := range strings.Lines(mod) {
		if v, ok := strings.CutPrefix(line, "go "); ok {
			return strings.TrimSpace(v)
		}
	}
	return "1.26"
}

// quoted writes a path for go.mod, which needs quotes around spaces.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t'\"`()[]{},") {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// class makes the name of a Python class: my-search becomes MySearchTuner.
func class(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '-' || r == '_' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	if s := b.String(); s[0] >= '0' && s[0] <= '9' {
		return "T" + s + "Tuner"
	}
	return b.String() + "Tuner"
}

// emptyDir makes a directory that is not there.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.MkdirAll(dir, 0o755)
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty", dir)
	}
	return err
}

// FindCheckout looks for fedfast's own module in the directories and above them. It
// returns "" when there is none.
func FindCheckout(from ...string) string {
	for _, dir := range from {
		for dir, err := filepath.Abs(dir); err == nil; dir = filepath.Dir(dir) {
			mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
			if err == nil && strings.HasPrefix(string(mod), "module "+sdk+"\n") {
				return dir
			}
			if filepath.Dir(dir) == dir {
				break
			}
		}
	}
	return ""
}
