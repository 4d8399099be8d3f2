package command

import (
	"cmp"
	_ "embed" // the texts
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/docs"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
)

// pages are the pages that have other names as topics: a command has the same one, or the name is what people look for.
var pages = map[string]string{"readme": "README", "tuning": "tune", "csv": "hospitals"}

// helpTexts has what the help of commands says at length, unless part of it is computed, and their
// examples, by their paths.
//
//go:embed help.txt
var helpTexts string

// tellHelp gives the commands of a program their texts.
func tellHelp(root *cobra.Command) {
	for section := range strings.SplitSeq("\n"+strings.TrimSpace(helpTexts), "\n# ") {
		path, text, _ := strings.Cut(section, "\n")
		long, example, _ := strings.Cut("\n"+text, "\nExamples:\n")
		if c, rest, err := root.Find(strings.Fields(path)); err == nil && len(rest) == 0 {
			c.Long, c.Example = cmp.Or(strings.TrimSpace(long), c.Long), strings.TrimRight(example, "\n")
		}
	}
}

// newHelp prints the help of commands, and pages of the documentation.
func newHelp(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Print the help of a command, or a page of the documentation",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 0 {
				if err := root.Help(); err != nil {
					return err
				}
				fmt.Fprintln(a.out, "\nTopics:")
				_, rows := topics()
				return tableOf(a.out, nil, rows).Flush()
			}
			if found, rest, err := root.Find(args); err == nil && found != root && len(rest) == 0 {
				return found.Help()
			}
			name := args[0]
			if page, ok := pages[name]; ok {
				name = page
			}
			text := docs.Page(name)
			if text == "" || len(args) > 1 {
				names, _ := topics()
				names = append(names, list.Of(root.Commands(), (*cobra.Command).Name)...)
				return fmt.Errorf("help: unknown command or topic %q%s; `fedfast help` lists them",
					strings.Join(args, " "), key.DidYouMean(args[0], key.Names(names...)))
			}
			_, err := fmt.Fprint(a.out, text)
			return err
		},
	}
}

// topics are the names of the pages, and rows of these with their titles.
func topics() (names []string, rows [][]string) {
	for _, t := range docs.Topics() {
		name := t[0]
		for other, page := range pages {
			if page == name {
				name = other
			}
		}
		names, rows = append(names, name), append(rows, []string{"  " + name, t[1]})
	}
	return names, rows
}
