// Package wheel tests the wheels that .ci/wheel writes, and what .ci/release refuses.
package wheel

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"net/mail"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	root    = filepath.Join("..", "..", "..")
	project = filepath.Join(root, "tuners", "python")
)

// pack runs .ci/wheel and returns the path that it prints.
func pack(dir string, args ...string) (string, error) {
	var problem strings.Builder
	notices := filepath.Join(root, "LICENSE") // stands in for those of the modules
	fixed := []string{filepath.Join(root, ".ci", "wheel"), "--out", dir, "--notices", notices}
	cmd := exec.Command("python3", append(fixed, args...)...)
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, problem.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// TestMain skips the tests where no Python has tomllib, as 3.11 does.
func TestMain(m *testing.M) {
	if err := exec.Command("python3", "-c", "import tomllib").Run(); err != nil {
		fmt.Println("no python3 of 3.11 or later here: wheels are not tested")
		return
	}
	os.Exit(m.Run())
}

// write writes a wheel with a stand-in for the program.
func write(t *testing.T, goos, arch string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "built")
	if err := os.WriteFile(program, []byte("the program"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := pack(t.TempDir(), "--os", goos, "--arch", arch, "--program", program, "--project", project,
		"--license", filepath.Join(root, "LICENSE"), "--local", ".dev0+gab12")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// version is the version in the changelog, which the package has, too.
func version(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)`).FindSubmatch(text)
	if m == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	return string(m[1])
}

func TestNamesAndPrograms(t *testing.T) {
	stem := "fedfast-" + version(t) + ".dev0+gab12"
	for _, c := range []struct{ goos, arch, tag, program string }{
		{"linux", "amd64", "manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64", "fedfast"},
		{"linux", "arm64", "manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64", "fedfast"},
		{"darwin", "amd64", "macosx_12_0_x86_64", "fedfast"},
		{"darwin", "arm64", "macosx_12_0_arm64", "fedfast"},
		{"windows", "amd64", "win_amd64", "fedfast.exe"},
	} {
		file := write(t, c.goos, c.arch)
		if want := fmt.Sprintf("%s-py3-none-%s.whl", stem, c.tag); filepath.Base(file) != want {
			t.Errorf("%s, want %s", filepath.Base(file), want)
		}
		got := contents(t, file)
		if string(got[stem+".data/scripts/"+c.program]) != "the program" {
			t.Errorf("%s/%s: no program in %s", c.goos, c.arch, file)
		}
		var tags []string
		for tag := range strings.SplitSeq(c.tag, ".") {
			tags = append(tags, "Tag: py3-none-"+tag+"\n")
		}
		if text := string(got[stem+".dist-info/WHEEL"]); !strings.HasSuffix(text, strings.Join(tags, "")) {
			t.Errorf("WHEEL is %s", text)
		}
	}
}

func TestRecordListsEveryFile(t *testing.T) {
	file := write(t, "linux", "amd64")
	files := contents(t, file)
	info := "fedfast-" + version(t) + ".dev0+gab12.dist-info/"
	lines, err := csv.NewReader(bytes.NewReader(files[info+"RECORD"])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		content, ok := files[l[0]]
		sum := sha256.Sum256(content)
		want := []string{"sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), strconv.Itoa(len(content))}
		if l[0] == info+"RECORD" {
			want = []string{"", ""}
		}
		if !ok || !slices.Equal(l[1:], want) {
			t.Errorf("RECORD has %v, want %v", l, want)
		}
		delete(files, l[0])
	}
	if len(files) > 0 {
		t.Errorf("RECORD leaves out %d files", len(files))
	}
}

func TestMetadata(t *testing.T) {
	files := contents(t, write(t, "linux", "amd64"))
	info := "fedfast-" + version(t) + ".dev0+gab12.dist-info/"
	head, readme, _ := strings.Cut(string(files[info+"METADATA"]), "\n\n")
	for _, want := range []string{
		"Metadata-Version: 2.4", "Name: fedfast", "Version: " + version(t) + ".dev0+gab12",
		"License-Expression: Apache-2.0",
		"License-File: LICENSE", "License-File: THIRD_PARTY_NOTICES.txt",
		"Requires-Python: >=3.9", "Requires-Dist: numpy",
		`Requires-Dist: pandas; extra == "tables"`,
	} {
		if !strings.Contains(head+"\n", want+"\n") {
			t.Errorf("METADATA lacks %s:\n%s", want, head)
		}
	}
	if !strings.HasPrefix(readme, "# ") {
		t.Errorf("the description begins with %.40q", readme)
	}
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(readme, -1)
	for _, link := range links { // an index shows them on a page of its own
		path, inside := strings.CutPrefix(link[1], "https://github.com/fedfast/fedfast/blob/HEAD/")
		path, _, _ = strings.Cut(path, "#")
		if _, err := os.Stat(filepath.Join(root, path)); inside && err != nil {
			t.Errorf("the description has the link %s: %v", link[1], err)
		}
		if !strings.HasPrefix(link[1], "https://") {
			t.Errorf("the description has the link %s, which leads nowhere on an index", link[1])
		}
	}
	if len(links) == 0 {
		t.Error("the description has no links")
	}
	licenses := info + "licenses/"
	for _, name := range []string{
		"fedfast/py.typed", "fedfast/__main__.py", licenses + "LICENSE",
		licenses + "THIRD_PARTY_NOTICES.txt",
	} {
		if _, ok := files[name]; !ok {
			t.Errorf("the wheel lacks %s", name)
		}
	}
}

// TestStandards checks a wheel by the rules that package indexes and checkers of metadata apply.
func TestStandards(t *testing.T) {
	file := write(t, "linux", "amd64")
	name := regexp.MustCompile(`^([A-Za-z0-9_]+)-([^-]+)-(py3)-(none)-([a-z0-9_.]+)\.whl$`).
		FindStringSubmatch(filepath.Base(file)) // PEP 427
	if name == nil {
		t.Fatalf("%s is no name of a wheel", file)
	}
	canonical := regexp.MustCompile(`^(0|[1-9]\d*)(\.(0|[1-9]\d*))*(\.dev\d+)?(\+[a-z0-9]+)?$`) // PEP 440
	if !canonical.MatchString(name[2]) {
		t.Errorf("version %s", name[2])
	}
	files := contents(t, file)
	info := name[1] + "-" + name[2] + ".dist-info/"
	for _, of := range []struct {
		file, want string
		once       []string // keys
	}{
		{"METADATA", "Name: " + name[1], []string{
			"Metadata-Version", "Name", "Version", "Summary", "Description-Content-Type", "License-Expression",
			"Requires-Python", "Keywords",
		}},
		{"WHEEL", "Wheel-Version: 1.0", []string{"Wheel-Version", "Generator", "Root-Is-Purelib"}},
	} {
		m, err := mail.ReadMessage(bytes.NewReader(append(files[info+of.file], '\n'))) // the format of both
		if err != nil {
			t.Fatalf("%s: %v", of.file, err)
		}
		for _, key := range of.once {
			if values := m.Header[textproto.CanonicalMIMEHeaderKey(key)]; len(values) != 1 || values[0] == "" {
				t.Errorf("%s: %s is %q", of.file, key, values)
			}
		}
		if !bytes.Contains(files[info+of.file], []byte(of.want+"\n")) {
			t.Errorf("%s lacks %s", of.file, of.want)
		}
		if of.file == "WHEEL" {
			continue
		}
		if m.Header.Get("Version") != name[2] {
			t.Errorf("the file's version is %s, METADATA's %s", name[2], m.Header.Get("Version"))
		}
		if got := m.Header.Get("Description-Content-Type"); got != "text/markdown" {
			t.Errorf("the description is %s", got)
		}
		for _, license := range m.Header["License-File"] { // PEP 639
			if len(files[info+"licenses/"+license]) < 1000 {
				t.Errorf("no license in %s", license)
			}
		}
		for _, link := range m.Header["Project-Url"] {
			label, url, found := strings.Cut(link, ", ")
			if !found || label == "" || len(label) > 32 || !strings.HasPrefix(url, "https://") {
				t.Errorf("project URL %q", link)
			}
		}
		for _, c := range m.Header["Classifier"] {
			if strings.HasPrefix(c, "License ::") || !strings.Contains(c, " :: ") { // a license expression is in its place
				t.Errorf("classifier %q", c)
			}
		}
		if summary := m.Header.Get("Summary"); len(summary) > 512 {
			t.Errorf("the summary has %d bytes", len(summary))
		}
		page, err := io.ReadAll(m.Body)
		if err != nil {
			t.Fatal(err)
		}
		// An index shows the page elsewhere.
		for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllSubmatch(page, -1) {
			if !bytes.HasPrefix(link[1], []byte("https://")) {
				t.Errorf("METADATA: the link %s leads nowhere on an index", link[1])
			}
		}
	}
	for name := range files {
		if strings.Contains(name, "\\") || strings.HasPrefix(name, "/") || strings.Contains(name, "..") {
			t.Errorf("path %q", name)
		}
	}
}

func TestEqualFilesGiveEqualBytes(t *testing.T) {
	a, errA := os.ReadFile(write(t, "linux", "amd64"))
	b, errB := os.ReadFile(write(t, "linux", "amd64"))
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("two wheels differ (%v, %v)", errA, errB)
	}
}

func TestBadProjectsAreRefused(t *testing.T) {
	for _, c := range []struct{ toml, goos, readme, want string }{
		{"[project]\nname = 'x'\nversion = '1'\n", "plan9", "README.md", "no wheel platform tag is known for plan9/amd64"},
		{"[project]\nname = 'x'\n", "linux", "README.md", "project.version must be set"},
		{"[project]\nname = 'x'\nversion = '1'\nscripts = {}\n", "linux", "README.md", "no place for project.scripts"},
		{"[project\n", "linux", "README.md", "pyproject.toml: "},
		{"[project]\nname = 'x'\nversion = '1'\n", "linux", "no.md", "README.md"},
	} {
		dir, out := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "pyproject.toml"), []byte(c.toml), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, c.readme), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(root, "LICENSE")
		_, err := pack(out, "--project", dir, "--os", c.goos, "--arch", "amd64", "--program", program, "--license", program)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
}

// contents reads the files of a wheel, and checks their times and modes.
func contents(t *testing.T, file string) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }()
	got := map[string][]byte{}
	for _, f := range z.File {
		mode := os.FileMode(0o644)
		if strings.Contains(f.Name, ".data/scripts/") {
			mode = 0o755
		}
		if f.Mode() != mode || !f.Modified.Equal(time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s has mode %v and time %v", f.Name, f.Mode(), f.Modified)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if got[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return got
}
