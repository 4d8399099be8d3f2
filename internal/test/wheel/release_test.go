package wheel

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReleasesAreRefused changes what a tag must agree with: .ci/release says so before it builds.
func TestReleasesAreRefused(t *testing.T) {
	for _, program := range []string{"bash", "git", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	files := map[string]string{}
	for _, name := range []string{".ci/release", ".ci/changelog", "CITATION.cff", "tuners/python/pyproject.toml"} {
		files[name] = string(read(t, filepath.Join(root, name)))
	}
	v := version(t)
	const head = "# Changelog\n\n"
	for _, c := range []struct {
		file, old, now, tag string
		args                []string
		want                string
	}{
		{args: []string{"--all", "linux/amd64"}, want: "--all builds for every system: leave out linux/amd64"},
		{args: []string{"--wheel"}, want: "unknown flag --wheel; must be --out DIR, --wheels, --all or --key FILE"},
		{tag: "v9.9.9", want: "the tag is v9.9.9, but tuners/python/pyproject.toml has version " + v},
		{
			file: "CITATION.cff", old: "version: " + v, now: "version: 9.9.9",
			want: "CITATION.cff has version 9.9.9, but tuners/python/pyproject.toml " + v,
		},
		{
			file: "CITATION.cff", old: "date-released: 2001-02-03", now: "date-released: 2001-02-04",
			want: "CITATION.cff was released 2001-02-04, the commit of v" + v + " is of 2001-02-03",
		},
		{
			file: "CHANGELOG.md", old: v, now: v + " (not released yet)",
			want: "CHANGELOG.md begins with " + v + " (not released yet), and .ci/changes must be empty at a tag: " +
				"run .ci/changelog v" + v + " first, as it says",
		},
		{
			file: ".ci/changes/a.md", now: "- A change.\n",
			want: "CHANGELOG.md begins with " + v + ", and .ci/changes must be empty at a tag: " +
				"run .ci/changelog v" + v + " first, as it says",
		},
		{want: "none: must be a private key of ECDSA on P-256"}, // all else is right
	} {
		dir := t.TempDir()
		files["CHANGELOG.md"] = head + "## " + v + "\n\n- The first.\n"
		day := regexp.MustCompile(`(?m)^date-released: .*`)
		files["CITATION.cff"] = day.ReplaceAllString(files["CITATION.cff"], "date-released: 2001-02-03")
		for name, text := range files {
			if name == c.file {
				text = strings.Replace(text, c.old, c.now, 1)
			}
			place(t, dir, name, text)
		}
		if _, known := files[c.file]; !known && c.file != "" {
			place(t, dir, c.file, c.now)
		}
		run := func(name string, args ...string) (string, error) {
			cmd := exec.CommandContext(t.Context(), name, args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2001-02-03T12:00:00Z", "GIT_CONFIG_GLOBAL=/dev/null")
			out, err := cmd.CombinedOutput()
			return strings.TrimSpace(string(out)), err
		}
		tag := c.tag
		if tag == "" {
			tag = "v" + v
		}
		for _, args := range []string{"init -q", "add .", "-c user.name=n -c user.email=e commit -qm first", "tag " + tag} {
			if out, err := run("git", strings.Fields(args)...); err != nil {
				t.Fatalf("git %s: %v: %s", args, err, out)
			}
		}
		out, err := run("bash", append([]string{".ci/release", "--key", "none"}, c.args...)...)
		if err == nil || out != c.want {
			t.Errorf("%s %v: %v: %q, want %q", c.file, c.args, err, out, c.want)
		}
	}
}

// place writes a file below a folder.
func place(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	err := os.MkdirAll(filepath.Dir(file), 0o750)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestCitation compares what is said of the program where archives look for it. Zenodo takes version and date from
// the release.
func TestCitation(t *testing.T) {
	var zenodo struct {
		Title, License, Version string
		PublicationDate         string `json:"publication_date"`
		Keywords                []string
		Creators                []struct{ Name string }
	}
	if err := json.Unmarshal(read(t, filepath.Join(root, ".zenodo.json")), &zenodo); err != nil {
		t.Fatal(err)
	}
	if zenodo.Version != "" || zenodo.PublicationDate != "" {
		t.Error(".zenodo.json has a version or a date, which must be those of the tag")
	}
	cited := string(read(t, filepath.Join(root, "CITATION.cff")))
	packaged := string(read(t, filepath.Join(project, "pyproject.toml")))
	for _, want := range append([]string{
		"title: \"" + zenodo.Title + "\"\n", "license: " + zenodo.License + "\n", "version: " + version(t) + "\n",
		"  - name: " + zenodo.Creators[0].Name + "\n",
	}, zenodo.Keywords...) {
		if !strings.Contains(cited, want) {
			t.Errorf("CITATION.cff lacks %q", want)
		}
	}
	for _, want := range []string{"license = \"" + zenodo.License + "\"\n", "version = \"" + version(t) + "\"\n"} {
		if !strings.Contains(packaged, want) {
			t.Errorf("pyproject.toml lacks %q", want)
		}
	}
}

// TestWorkflows holds that the steps and programs that workflows call exist.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%d workflows: %v", len(files), err)
	}
	run := string(read(t, filepath.Join(root, ".ci", "run")))
	steps := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z]+)\(\) [{(]`).FindAllStringSubmatch(run, -1) {
		steps[m[1]] = strings.Contains(run, " "+m[1]+" ")
	}
	called := regexp.MustCompile(`(?m)^ *(?:- )?steps: (\[.*\]|[^\n\[]+)$|\.ci/run ((?:[a-z]+ )*[a-z]+)$`)
	n := 0
	for _, file := range files {
		text := string(read(t, file))
		for _, m := range called.FindAllStringSubmatch(text, -1) {
			for _, step := range strings.FieldsFunc(m[1]+m[2], func(r rune) bool { return strings.ContainsRune("[], ", r) }) {
				if n++; !steps[step] {
					t.Errorf("%s: .ci/run has no step %s", filepath.Base(file), step)
				}
			}
		}
		for _, name := range regexp.MustCompile(`- run: (\.ci/[a-z/]+)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, name[1])); err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d steps", n)
	}
}
