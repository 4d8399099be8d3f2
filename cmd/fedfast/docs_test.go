package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the module.
var root = filepath.Join("..", "..")

// tracked returns the paths of the project's files, from its root, that match patterns of git.
func tracked(t *testing.T, patterns ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"ls-files", "--"}, patterns...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("git ls-files: %v; only a checkout can be read whole", err)
	}
	return strings.Fields(string(out))
}

// TestVocabulary rejects the phrases in testdata/vocabulary.txt.
func TestVocabulary(t *testing.T) {
	words, err := os.ReadFile(filepath.Join("testdata", "vocabulary.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var patterns []*regexp.Regexp
	var better []string
	for line := range strings.Lines(string(words)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, instead, found := strings.Cut(line, "\t")
		if !found {
			t.Fatalf("vocabulary.txt: no tab in %q", line)
		}
		// A pattern that begins with letters is found many times as fast.
		patterns, better = append(patterns, regexp.MustCompile(strings.TrimPrefix(pattern, `\b`))), append(better, instead)
	}
	within := regexp.MustCompile(`\w$`)
	newline := regexp.MustCompile(`\n\s*(//|#)?\s*`)
	for _, name := range tracked(t, "*.go", "*.md", "*.txtar", "*.toml", "*.html", "*.js", "*.py", "*.sql", "*.proto",
		".ci/*") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // deleted, but not committed yet
		}
		text := bytes.ToLower(newline.ReplaceAll(content, []byte(" "))) // a phrase may go over the end of a line
		for i, pattern := range patterns {
			for _, at := range pattern.FindAllIndex(text, -1) {
				if !within.Match(text[max(0, at[0]-1):at[0]]) {
					t.Errorf("%s: %q: write %s", name, text[max(0, at[0]-20):min(len(text), at[1]+20)], better[i])
				}
			}
		}
	}
}

// TestContributingNamesTests holds that each test on CONTRIBUTING's page of promises exists.
func TestContributingNamesTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	var tests bytes.Buffer
	for _, name := range tracked(t, "*_test.go") {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			tests.Write(content)
		}
	}
	names := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(page), -1)
	if len(names) < 8 {
		t.Errorf("CONTRIBUTING.md names %d tests", len(names))
	}
	for _, name := range names {
		if !bytes.Contains(tests.Bytes(), []byte("func "+name+"(")) {
			t.Errorf("CONTRIBUTING.md names %s, which does not exist", name)
		}
	}
}

// TestLinks holds that each relative link of a page leads to a file or a folder.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s#]+)(#[^)\s]*)?\)`)
	found := 0
	for _, name := range tracked(t, "*.md") {
		page, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // deleted, but not committed yet
		}
		for _, m := range link.FindAllSubmatch(page, -1) {
			to := string(m[1])
			if strings.Contains(to, ":") {
				continue // elsewhere
			}
			found++
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), filepath.FromSlash(to))); err != nil {
				t.Errorf("%s links to %s: %v", name, to, err)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d links", found)
	}
}

// TestMessages holds that the program can print each message of the page of
// troubleshooting: what stands between "..." is in one of its sources.
func TestMessages(t *testing.T) {
	heading := regexp.MustCompile("(?m)^### (.*)$")
	var sources []string
	for _, name := range tracked(t, "*.go", "*.py") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if content, err := os.ReadFile(filepath.Join(root, name)); err == nil {
			sources = append(sources, strings.ReplaceAll(string(content), `\"`, `"`))
		}
	}
	page, _, _ := strings.Cut(readText(t, "cmd/fedfast/docs/troubleshooting.md"), "\n## Questions\n")
	found := heading.FindAllStringSubmatch(page, -1)
	if len(found) < 30 {
		t.Errorf("only %d messages; .ci/site/check.mjs asks for 30, too", len(found))
	}
	for _, m := range found {
		for _, message := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[1], -1) {
			parts := strings.Split(message[1], "...")
			if !slices.ContainsFunc(sources, func(text string) bool {
				return !slices.ContainsFunc(parts, func(part string) bool {
					return !strings.Contains(text,
						strings.TrimSpace(part))
				})
			}) {
				t.Errorf("no source has %q", message[1])
			}
		}
	}
}
