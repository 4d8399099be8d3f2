package command

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// manDir is where .ci/release has the pages of man written.
var manDir = flag.String("man", "", "write the pages of man into this directory")

// commandTree returns all commands as the program has them, without what the machine or the
// version decides.
func commandTree(t *testing.T) *cobra.Command {
	t.Helper()
	t.Setenv("FEDFAST_CPU", "")
	root := (&app{out: &bytes.Buffer{}, err: &bytes.Buffer{}}).root()
	var plain func(c *cobra.Command)
	plain = func(c *cobra.Command) {
		c.DisableAutoGenTag = true
		for _, below := range c.Commands() {
			plain(below)
		}
	}
	plain(root)
	return root
}

var (
	helpFlag   = regexp.MustCompile(`(?m)^ +-h, --help .*\n`)
	emptyFlags = regexp.MustCompile("```\n```\n\n")
)

// flagText is what the page says of a flag.
func flagText(f *pflag.Flag) string {
	name, usage := pflag.UnquoteUsage(f)
	text := fmt.Sprintf("%-35s %s", strings.TrimSpace("--"+f.Name+" "+name), usage)
	if f.Value.Type() != "bool" && f.DefValue != "" && f.DefValue != "0" && f.DefValue != "[]" {
		text += " (default " + f.DefValue + ")"
	}
	return text
}

// commandsPage writes one page of all commands: a section each, without what cobra repeats.
func commandsPage(t *testing.T) string {
	t.Helper()
	var p strings.Builder
	p.WriteString("# Commands\n\n<!-- Written by `go test ./cmd/fedfast/command -run TestCommandsReference -update`; do not edit. -->\n\n" +
		"Results go to stdout, progress and logs to stderr; `--json` prints results as JSON. The exit code is 0 for success, 1 for a failure,\n" +
		"2 for wrong usage. Work of more than about 10 seconds is estimated before it starts. The first Ctrl-C finishes the current round, saves\n" +
		"the study and prints the command that resumes it; a second one stops at once. `-h` shows the help of each command.\n\n")
	root := commandTree(t)
	times, texts := map[string]int{}, map[string][]string{} // of flags by their text, texts by names
	var count func(c *cobra.Command)
	count = func(c *cobra.Command) {
		if c.Name() == "completion" {
			return
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			text := flagText(f)
			if times[text]++; times[text] == 1 {
				texts[f.Name] = append(texts[f.Name], text)
			}
		})
		for _, below := range c.Commands() {
			count(below)
		}
	}
	count(root)
	// A name that means several things is shared only in the meaning that most commands have.
	shared := func(name, text string) bool {
		return times[text] > 1 && !slices.ContainsFunc(texts[name], func(other string) bool {
			return other != text && times[other] >= times[text]
		})
	}
	p.WriteString("Flags of several commands, which the sections below only name:\n\n```\n")
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, text := range texts[name] {
			if shared(name, text) {
				p.WriteString(text + "\n")
			}
		}
	}
	p.WriteString("```\n\n")
	var sections strings.Builder
	var write func(c *cobra.Command)
	write = func(c *cobra.Command) {
		if !c.IsAvailableCommand() || c.Name() == "completion" { // as in every program
			return
		}
		for paragraph := range strings.SplitSeq(c.Long, "\n\n") {
			if strings.Contains(paragraph, "\n  ") { // a list
				c.Long = strings.Replace(c.Long, paragraph, "```\n"+paragraph+"\n```", 1)
			}
		}
		var common []string
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if shared(f.Name, flagText(f)) {
				common = append(common, "`--"+f.Name+"`")
				f.Hidden = true
			}
		})
		var b bytes.Buffer
		if err := doc.GenMarkdown(c, &b); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(b.String(), "### SEE ALSO")
		text, _, _ = strings.Cut(text, "### Options inherited from parent commands")
		for _, heading := range []string{"### Synopsis\n\n", "### Examples\n\n", "### Options\n\n"} {
			text = strings.Replace(text, heading, "", 1)
		}
		if c.Long != "" { // which begins with what the short text says
			text = strings.Replace(text, "\n"+c.Short+"\n\n", "\n", 1)
		}
		text = strings.Replace(text, "```\n"+c.CommandPath()+" [flags]\n```\n\n", "", 1) // as the heading
		anchor := strings.ReplaceAll(c.CommandPath(), " ", "-")
		text = emptyFlags.ReplaceAllString(helpFlag.ReplaceAllString(text, ""), "")
		text = strings.ReplaceAll(text, "```\n\n```\n", "\n") // usage, examples and flags, as in the help
		if len(common) > 0 {
			text = strings.TrimSpace(text) + "\n\nAlso " + strings.Join(common, ", ") + ".\n"
		}
		name := strings.TrimSuffix(c.UseLine(), " [flags]") + ": " + c.Short
		if strings.Contains(text, "\n  ") || len(common) > 0 || c.Long != "" { // more than the list says
			name = fmt.Sprintf("[%s](#%s)", c.Name(), anchor)
			sections.WriteString("\n" + strings.TrimSpace(strings.ReplaceAll(text, " [flags]\n", "\n")) + "\n")
		}
		fmt.Fprintf(&p, "%s- %s\n", strings.Repeat("  ", strings.Count(anchor, "-")), name)
		for _, below := range c.Commands() {
			write(below)
		}
	}
	write(root)
	return p.String() + sections.String()
}

// TestCommandsReference holds that the page of commands is what they say in their help.
func TestCommandsReference(t *testing.T) {
	current(t, filepath.Join("..", "docs", "commands.md"), commandsPage(t))
}

// TestManPages writes the pages of man, into the directory of -man if it is given, and
// wants one of each command. Their bytes are the same for the same source.
func TestManPages(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	root, written := commandTree(t), time.Unix(0, 0).UTC()
	header := &doc.GenManHeader{Section: "1", Date: &written, Source: "fedfast", Manual: "fedfast"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	var wanted func(c *cobra.Command)
	wanted = func(c *cobra.Command) {
		if !c.IsAvailableCommand() {
			return
		}
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil || !bytes.Contains(page, []byte(".SH SYNOPSIS")) || c.HasFlags() &&
			!bytes.Contains(page, []byte(".SH OPTIONS")) {
			t.Errorf("%s: %v, a page of %d bytes", c.CommandPath(), err, len(page))
		}
		for _, below := range c.Commands() {
			wanted(below)
		}
	}
	wanted(root)
}

// TestHelpTextsAreOfCommands finds the command of each section of help.txt.
func TestHelpTextsAreOfCommands(t *testing.T) {
	root := commandTree(t)
	for line := range strings.Lines(helpTexts) {
		path, is := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if c, _, err := root.Find(strings.Fields(path)); is && (err != nil || c.CommandPath() != "fedfast "+path) {
			t.Errorf("help.txt: there is no command %q", path)
		}
	}
}
