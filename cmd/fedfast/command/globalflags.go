package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// acting lists the global flags that do something in a command, by its path; that of a
// group holds for its commands. The help of others leaves them out.
var acting = map[string][]string{
	"run":            {"seed", "workers", "cpu", "json", "log"},
	"tune":           {"seed", "workers", "cpu", "json", "log", "tuner-path", "tuner-reattach"},
	"worker":         {"workers", "cpu", "log"},
	"eval":           {"seed", "workers", "cpu", "json", "log", "tuner-path", "tuner-reattach"},
	"study":          {"json"},
	"study resume":   {"workers", "cpu", "json", "log", "tuner-path", "tuner-reattach"},
	"report":         {"json"},
	"figure":         {"json"},
	"ui":             {"json", "log"},
	"data":           {"json"},
	"data info":      {"seed", "json"},
	"data partition": {"seed", "json"},
	"data fleet":     {"seed", "json"},
	"dp":             {"json"},
	"model":          {"cpu", "json"},
	"model genotype": {"seed", "json"},
	"tuner":          {"json"},
	"tuner list":     {"json", "log", "tuner-path", "tuner-reattach"},
	"tuner check":    {"seed", "json", "log", "tuner-path", "tuner-reattach"},
	"list":           {"json"},
	"list tuners":    {"json", "log", "tuner-path", "tuner-reattach"},
	"bench":          {"workers", "cpu", "json"},
	"repro":          {"seed", "workers", "cpu", "json", "log", "tuner-path", "tuner-reattach"},
	"repro list":     {"workers", "cpu", "json"},
	"version":        {"cpu", "json"},
	"completion":     {},
}

// acts says whether a global flag does something in a command.
func acts(c *cobra.Command, flag string) bool {
	_, path, below := strings.Cut(c.CommandPath(), " ")
	for below {
		if flags, ok := acting[path]; ok {
			return slices.Contains(flags, flag)
		}
		at := strings.LastIndex(path, " ")
		if at < 0 {
			break
		}
		path = path[:at]
	}
	return true
}

// helpGroups are the headings of commands in the program's help.
var helpGroups = []struct {
	title    string
	commands []string
}{
	{"Train and tune:", []string{"run", "tune", "worker"}},
	{"Look at studies:", []string{"study", "report", "figure", "ui", "eval"}},
	{"Prepare:", []string{"data", "model", "dp", "tuner", "list"}},
	{"Measure and reproduce:", []string{"bench", "repro"}},
}

// arrangeHelp groups the commands in the help of the program, and leaves global flags out
// of the help of commands in which they do nothing.
func arrangeHelp(root *cobra.Command) {
	for _, g := range helpGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range root.Commands() {
			if slices.Contains(g.commands, c.Name()) {
				c.GroupID = g.title
			}
		}
	}
	usage := root.UsageFunc()
	root.SetUsageFunc(func(c *cobra.Command) error {
		var hidden []*pflag.Flag
		root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !acts(c, f.Name) {
				f.Hidden = true
				hidden = append(hidden, f)
			}
		})
		defer func() {
			for _, f := range hidden {
				f.Hidden = false
			}
		}()
		return usage(c)
	})
}
