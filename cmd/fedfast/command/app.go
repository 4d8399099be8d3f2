// Package command is the command line of fedfast, for programs that add layers,
// losses, methods or sets of data of their own:
//
//	package main
//
//	import (
//		"os"
//
//		"github.com/fedfast/fedfast/cmd/fedfast/command"
//		_ "example.org/mine" // registers them
//	)
//
//	func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
//
// Such a program has all commands of fedfast, which know what was registered by its
// name: in study files, in lists and in help.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/outfile"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/finite"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tuners/host"
)

// app is one call of the program.
type app struct {
	out, err io.Writer

	seed          uint64
	seedGiven     bool
	workers       int
	cpu           string
	json          bool
	verbose       bool // of commands that print results of studies
	tunerPaths    []string
	tunerReattach string
	log           slog.Level
	logs          *logs
	told          []string // notes about data

	// serves is set when there are no rounds to wait for.
	serves atomic.Bool

	// running is set when a command begins its work: errors before are wrong
	// usage.
	running bool
}

// usageError is an error that the caller of the program made.
type usageError struct{ error }

// Unwrap returns the error itself.
func (e usageError) Unwrap() error { return e.error }

// main runs a command line and returns the exit code.
func (a *app) main(args []string) int {
	a.logs = &logs{to: a.err}
	if err := memory.Limit(); err != nil {
		a.running = true
		return a.exit(context.Background(), err)
	}
	ctx, stop := a.signals()
	defer stop()
	root := a.root()
	root.SetArgs(args)
	return a.exit(ctx, root.ExecuteContext(ctx))
}

// exit prints an error as one line and returns the exit code.
func (a *app) exit(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	var usage usageError
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	fmt.Fprintln(a.err, "fedfast: "+oneline.Of(err.Error())+hint(err))
	if differs, ok := errors.AsType[*config.DiffError](err); ok {
		for _, line := range differs.Diff {
			fmt.Fprintln(a.err, "  "+oneline.Of(line))
		}
	}
	_, badKey := errors.AsType[*key.Error](err) // wherever it was found out
	if !a.running || badKey || errors.As(err, &usage) {
		return 2
	}
	return 1
}

// root builds the command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "fedfast",
		Short:         "Simulate federated learning on CPUs and tune its hyperparameters",
		Version:       workdir.ThisVersion().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.seedGiven = cmd.Flags().Changed("seed")
			return a.validate()
		},
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetVersionTemplate("{{.Version}}\n")
	flags := root.PersistentFlags()
	flags.Uint64Var(&a.seed, "seed", 0, "random seed")
	flags.IntVar(&a.workers, "workers", 0, "maximum concurrent clients (0: number of CPUs); does not change results")
	flags.StringVar(&a.cpu, "cpu", "", "instruction `SET`: generic, avx2, avx512, amx or neon (default: best available; env FEDFAST_CPU)")
	flags.BoolVar(&a.json, "json", false, "print the result as JSON")
	flags.StringSliceVar(&a.tunerPaths, "tuner-path", nil, "search `DIRS` for tuner binaries, before FEDFAST_TUNER_DIR")
	flags.StringVar(&a.tunerReattach, "tuner-reattach", "", "attach to running tuners, as printed by a tuner in a debugger: NAME=unix:/path@PID (env "+host.AttachEnv+")")
	flags.TextVar(&a.log, "log", slog.LevelWarn, "minimum `LEVEL` of log messages on stderr: debug, info (includes tuner output), warn or error")
	root.AddCommand(newRun(a), newTune(a), newPlan(a), newWorker(a), newEval(a), newVerify(a))
	root.AddCommand(newModel(a), newStudy(a), newReport(a), newFigure(a), newRepro(a), newBench(a), newTable(a),
		newData(a), newDP(a), newTuner(a), newList(a), newUI(a), newMCP(a), newDescribe(a), newVersion(a))
	root.SetHelpCommand(newHelp(a))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			holding(c)
		}
	}
	tellHelp(root)
	completeFlags(root)
	explainUsage(root)
	arrangeHelp(root)
	return root
}

// validate applies the flags that every command has.
func (a *app) validate() error {
	if a.workers < 0 {
		return fmt.Errorf("--workers %d: must be a positive integer, or 0 for the number of CPUs", a.workers)
	}
	if env := os.Getenv("FEDFAST_CPU"); env != "" && a.cpu == "" {
		if err := setLevel(env); err != nil {
			return fmt.Errorf("FEDFAST_CPU: %w", err)
		}
	}
	if a.cpu != "" {
		if err := setLevel(a.cpu); err != nil {
			return fmt.Errorf("--cpu: %w", err)
		}
	}
	return nil
}

func setLevel(name string) error {
	level, err := kernels.ParseLevel(name)
	if err != nil {
		return err
	}
	return kernels.SetLevel(level)
}

// work returns a command's RunE: from here on errors are failures unless they
// say otherwise.
func (a *app) work(run func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.running = true
		return run(cmd, args)
	}
}

// group returns a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short}
	g.AddCommand(commands...)
	return holding(g)
}

// holding makes a command that only groups others reject unknown commands.
func holding(g *cobra.Command) *cobra.Command {
	g.Args = cobra.ArbitraryArgs
	g.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, c := range cmd.Commands() {
			if !c.Hidden {
				names = append(names, c.Name())
			}
		}
		return usageError{fmt.Errorf("unknown command %q for %q%s; available: %s", args[0], cmd.CommandPath(), key.DidYouMean(args[0], key.Names(names...)), strings.Join(names, ", "))}
	}
	return g
}

// verboseFlag adds the flag for more than the result of a study.
func (a *app) verboseFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.verbose, "verbose", false, "print trials, curves, all errors and checksums before the result")
}

// printJSON writes a result as indented JSON; numbers that are not finite become
// null.
func (a *app) printJSON(v any) error {
	text, err := finite.MarshalIndent(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", text)
	return err
}

// logs is where log lines go: stderr, or the display while it shows a bar there.
type logs struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes whole lines.
func (l *logs) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(lines)
}

// redirect sends the lines that follow elsewhere.
func (l *logs) redirect(to io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = to
}

// newLog returns the log: plain lines without times.
func (a *app) newLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.logs, &slog.HandlerOptions{Level: a.log, ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
		if len(groups) == 0 && attr.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return attr
	}}))
}

// output is a file that a flag asks for, none when the path is empty.
type output struct{ flag, path string }

// writable refuses files that could not be written in the end, before long work
// is done for them.
func writable(files []output) error {
	for _, f := range files {
		if err := outfile.File(f.path); err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	return nil
}

// Main runs a command line, without the program's name, and returns its exit code: 0,
// or 1 for a failure and 2 for wrong usage, of which it writes one line to stderr.
func Main(args []string, stdout, stderr io.Writer) int {
	a := &app{out: stdout, err: stderr}
	return a.main(args)
}
