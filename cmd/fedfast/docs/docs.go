// Package docs holds the pages of the documentation that `fedfast help TOPIC` prints, also where there
// is no internet.
package docs

import (
	"embed"
	"strings"
)

//go:embed *.md
var files embed.FS

// Topics are the names of the pages in alphabetical order, each with its title.
func Topics() (all [][2]string) {
	entries, _ := files.ReadDir(".") // of the program itself
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".md")
		title, _, _ := strings.Cut(strings.TrimPrefix(Page(name), "# "), "\n")
		all = append(all, [2]string{name, title})
	}
	return all
}

// Page returns the page of a name as Markdown, empty for none.
func Page(name string) string {
	text, _ := files.ReadFile(name + ".md") // else empty
	return string(text)
}
