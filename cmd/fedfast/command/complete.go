package command

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/plugins"
)

// completeFlags lets the shell complete the values of the flags that commands
// share, below every command that has them.
func completeFlags(cmd *cobra.Command) {
	for name, complete := range map[string]cobra.CompletionFunc{
		"set":          completeSetting,
		"preset":       completeNames(presetNames),
		"tuner":        completeNames(builtinNames),
		"client-tuner": completeNames(clientTunerNames),
		"cpu":          completeNames(func() []string { return list.Of(kernels.Supported(), kernels.Level.String) }),
		"log":          completeNames(func() []string { return []string{"debug", "info", "warn", "error"} }),
		"study":        completeStudy,
		"from":         completeStudy,
	} {
		if cmd.Flag(name) == nil {
			continue
		}
		if _, done := cmd.GetFlagCompletionFunc(name); !done {
			_ = cmd.RegisterFlagCompletionFunc(name, complete) // the flag is there and has none
		}
	}
	for _, sub := range cmd.Commands() {
		completeFlags(sub)
	}
}

// completeNames completes any of a list of names.
func completeNames(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return beginning(names(), begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFirst completes the first argument.
func completeFirst(names func() []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeNames(names)(cmd, args, begun)
	}
}

// completeFile completes a study file.
func completeFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"toml"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeStudy completes the folder of a study: those below studies, or any.
func completeStudy(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	recorded, _ := filepath.Glob(filepath.Join(workdir.Home, "*", "study.db")) // the pattern is right
	dirs := list.Of(recorded, filepath.Dir)
	if dirs = beginning(dirs, begun); len(dirs) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return dirs, cobra.ShellCompDirectiveNoFileComp
}

// completeSetting completes key=value: first the key, then its value.
func completeSetting(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	name, value, valued := strings.Cut(begun, "=")
	if valued {
		values := list.Of(beginning(valuesOf(name), value), func(v string) string { return name + "=" + v })
		return values, cobra.ShellCompDirectiveNoFileComp
	}
	var keys []string
	for _, k := range config.Reference() {
		for _, key := range below(k.Key) {
			if strings.HasPrefix(key, begun) {
				keys = append(keys, cobra.CompletionWithDesc(key+"=", k.Doc))
			}
		}
	}
	return keys, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// below returns the keys that one of the reference stands for.
func below(key string) []string {
	table, open := strings.CutSuffix(key, "NAME")
	if !open {
		return []string{key}
	}
	if table != "space." {
		return nil // which options there are is the tuner's
	}
	return list.Of(hyper.Tunable(), func(name string) string { return table + name })
}

// valuesOf returns the values that a key may have, where they can be listed.
func valuesOf(key string) []string {
	switch key {
	case "tuner.name":
		return builtinNames()
	case "client_tuner.name":
		return clientTunerNames()
	}
	return config.Values(key)
}

// clientTunerNames returns the built-in tuners that can be client tuners, and the
// word for none.
func clientTunerNames() []string {
	return append(list.Where(builtinNames(), func(name string) bool {
		d, err := plugins.Builtin()[name].Describe(context.Background())
		return err == nil && d.Rounds
	}), "none")
}

// beginning returns the names that begin so.
func beginning(names []string, begun string) []string {
	return list.Where(names, func(name string) bool { return strings.HasPrefix(name, begun) })
}
