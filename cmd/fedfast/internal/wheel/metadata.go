package wheel

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// project is the table [project] of a pyproject.toml, as far as it is used. A key that would be
// dropped is an error.
type project struct {
	Name           string              `toml:"name"`
	Version        string              `toml:"version"`
	Description    string              `toml:"description"`
	Readme         string              `toml:"readme"`
	RequiresPython string              `toml:"requires-python"`
	License        string              `toml:"license"`
	Keywords       []string            `toml:"keywords"`
	Classifiers    []string            `toml:"classifiers"`
	Dependencies   []string            `toml:"dependencies"`
	Optional       map[string][]string `toml:"optional-dependencies"`
	URLs           map[string]string   `toml:"urls"`
}

// readProject reads a pyproject.toml.
func readProject(file string) (project, error) {
	var top struct {
		Project project `toml:"project"`
	}
	meta, err := toml.DecodeFile(file, &top)
	if err != nil {
		return project{}, fmt.Errorf("%s: %w", file, err)
	}
	for _, key := range meta.Undecoded() {
		if key[0] == "project" {
			return project{}, fmt.Errorf("%s: wheels have no place for %s", file, key)
		}
	}
	if top.Project.Name == "" || top.Project.Version == "" {
		return project{}, fmt.Errorf("%s: project.name and project.version must be set", file)
	}
	return top.Project, nil
}

// metadata is the text of the file METADATA, by version 2.4 of the core metadata (PEP 639).
func (p project) metadata(readme string) string {
	var b strings.Builder
	add := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", key, value)
		}
	}
	add("Metadata-Version", "2.4")
	add("Name", p.Name)
	add("Version", p.Version)
	add("Summary", p.Description)
	add("Keywords", strings.Join(p.Keywords, ","))
	add("License-Expression", p.License)
	add("License-File", "LICENSE")
	for _, c := range p.Classifiers {
		add("Classifier", c)
	}
	for _, name := range slices.Sorted(maps.Keys(p.URLs)) {
		add("Project-URL", name+", "+p.URLs[name])
	}
	add("Requires-Python", p.RequiresPython)
	for _, d := range p.Dependencies {
		add("Requires-Dist", d)
	}
	for _, extra := range slices.Sorted(maps.Keys(p.Optional)) {
		add("Provides-Extra", extra)
		for _, d := range p.Optional[extra] {
			add("Requires-Dist", fmt.Sprintf("%s; extra == %q", d, extra))
		}
	}
	add("Description-Content-Type", "text/markdown")
	return b.String() + "\n" + p.absolute(readme)
}

// folder is where the project is in its repository.
const folder = "tuners/python"

// relative is a link of Markdown to a file of the repository.
var relative = regexp.MustCompile(`\]\(\.[^)]*\)`)

// absolute makes links to other files of the repository lead there: an index shows the
// readme without them.
func (p project) absolute(readme string) string {
	return relative.ReplaceAllStringFunc(readme, func(link string) string {
		return "](" + p.URLs["Source"] + "/blob/HEAD/" + path.Join(folder, link[2:])
	})
}
