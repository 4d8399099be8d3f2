package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/goworktest"
	"github.com/fedfast/fedfast/internal/test/realdata"
)

// runPages are the pages whose commands TestPages runs, from the root of the project, with
// the modules of Python that they need. It also runs all others in cmd/fedfast/docs.
var runPages = map[string][]string{
	"README.md":                    nil,
	"cmd/fedfast/docs/numpy.md":    {"numpy"},
	"cmd/fedfast/docs/pytorch.md":  {"torch"},
	"cmd/fedfast/docs/my-tuner.md": {"grpc"},
	"cmd/fedfast/docs/python.md":   {"numpy"},

	"cmd/fedfast/docs/get-tuner.md": {"grpc"},
}

// pageData are the folders of real data that pages need, by the pages.
var pageData = map[string]string{"cmd/fedfast/docs/hospitals.md": "heart", "cmd/fedfast/docs/plan.md": "heart"}

// fence finds blocks of code: the language, the rest of the line, the text.
var fence = regexp.MustCompile("(?ms)^```(\\w+)[ ]?([^\n]*)\n(.*?)^```$")

// away finds what a block downloads, or runs on another machine.
var away = regexp.MustCompile(`\b(data fetch|git clone|pip install|scp|srun|sbatch)\b`)

// shorter makes README's studies short, and ends the server that shows it when it has begun.
var shorter = strings.NewReplacer(
	"./fedfast tune\n", "./fedfast tune --set budget.rounds=100 --set eval.clients=20 --set finalists.clients=20\n",
	"./fedfast tune --study first",
	"./fedfast tune --study first --set budget.rounds=100 --set eval.clients=20 --set finalists.clients=20",
	"./fedfast ui .\n",
	"./fedfast ui . --listen 127.0.0.1:0 >ui.txt & until grep http ui.txt; do kill -0 $!; done; kill $!\n",
)

// TestPages runs a page's blocks in a directory of its own, in order. A block is
//
//	sh             run, and must succeed; `sh skip`, of blocks that download, need another
//	               machine or are commands of .ci/run, is not, and `sh slurm` by TestSlurm alone
//	text           lines that the sh block before prints, in this order, however they
//	               are spaced; "..." stands for any others, or for the rest of a line
//	LANGUAGE FILE  the content of FILE
//
// `fedfast` is this program, python3 one with the modules that the page needs, and the
// folder fedfast the checkout. README's own commands are run in the checkout, of which they
// build ./fedfast. Python finds the package fedfast.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the pages show commands for a POSIX shell")
	}
	pages := tracked(t, "cmd/fedfast/docs/*.md")
	for name := range runPages {
		if !slices.Contains(pages, name) {
			pages = append(pages, name)
		}
	}
	work := goworktest.Env(t, filepath.Join(root, "plugins", "examples", "extend")) // which a page builds
	for _, name := range pages {
		page := readText(t, name)
		blocks := fence.FindAllStringSubmatch(page, -1)
		if !slices.ContainsFunc(blocks, func(b []string) bool { return b[1] == "sh" && b[2] == "" }) {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path, work := "PATH="+pageBin(t, dir, name), work
			if name == "README.md" {
				work = "GOWORK=off" // the checkout builds itself
			}
			printed := ""
			for _, b := range blocks {
				switch language, info, text := b[1], b[2], b[3]; {
				case language == "sh" && info == "skip" && !away.MatchString(text) && !inCI(t, text):
					t.Errorf("a block is skipped that needs no download and no other machine:\n%s", text)
				case language == "sh" && info != "":
				case language == "sh":
					printed = runBlock(t, dir, shorter.Replace(text), path, work)
				case language == "text":
					expect(t, printed, text)
				case info != "":
					if err := os.WriteFile(filepath.Join(dir, info), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// inCI reports whether .ci/run runs every command of a block word for word.
func inCI(t *testing.T, block string) bool {
	t.Helper()
	run := strings.ReplaceAll(readText(t, ".ci/run"), "\n\t", "\n") // steps are functions
	for line := range strings.Lines(block) {
		command := strings.TrimSpace(line)
		if !strings.HasPrefix(command, "#") && !strings.Contains(run, "\n"+command) {
			return false
		}
	}
	return true
}

// readText returns a file of the project.
func readText(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(content), "\r\n", "\n")
}

// pageBin links the checkout or the program into a page's directory, and returns a PATH
// that begins with a folder of the Python that the page needs.
func pageBin(t *testing.T, dir, name string) string {
	t.Helper()
	at, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	links, modules := map[string]string{"fedfast": at}, runPages[name]
	if name == "README.md" {
		delete(links, "fedfast")
		for _, file := range tracked(t) { // what is at the top
			top, _, _ := strings.Cut(file, "/")
			links[top] = filepath.Join(at, top)
		}
	}
	if folder := pageData[name]; folder != "" {
		links[folder] = realdata.Dir(t, folder)
	}
	if len(modules) > 0 {
		found := ""
		for _, python := range pythons() {
			if hasModules(python, modules...) {
				found = python
				break
			}
		}
		if found == "" {
			t.Skipf("no python3 with %s here", strings.Join(modules, " and "))
		}
		links[filepath.Join("bin", "python3")] = found
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
}

// runBlock runs commands and returns what they print on stdout.
func runBlock(t *testing.T, dir, commands string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", commands)
	cmd.Dir = dir
	python, err := filepath.Abs(pythonDir)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(append(os.Environ(), env...), "PWD="+dir, "PYTHONPATH="+python, "PYTHONDONTWRITEBYTECODE=1",
		"XDG_DATA_HOME="+filepath.Join(dir, "home"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v:\n%s\n%s%s", err, commands, out, stderr.String())
	}
	return string(out)
}

// expect fails unless the lines are printed, in their order.
func expect(t *testing.T, printed, lines string) {
	t.Helper()
	rest := strings.Split(printed, "\n")
	for line := range strings.Lines(lines) {
		want := strings.Fields(line)
		if len(want) == 0 || len(want) == 1 && want[0] == "..." {
			continue
		}
		at := slices.IndexFunc(rest, func(line string) bool {
			got := strings.Fields(line)
			if n := len(want) - 1; want[n] == "..." && len(got) > n {
				return slices.Equal(got[:n], want[:n])
			}
			return slices.Equal(got, want)
		})
		if at < 0 {
			t.Errorf("the page shows %q, which is not printed, or not there:\n%s", strings.TrimSpace(line), printed)
			return
		}
		rest = rest[at+1:]
	}
}
