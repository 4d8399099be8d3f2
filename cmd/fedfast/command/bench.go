package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/bench"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/nn"
)

// benchOptions are the flags of bench.
type benchOptions struct {
	config   bench.Config
	rows     string
	input    string
	against  string
	pythons  []string
	precise  []string
	report   string
	markdown string
	plot     plotOptions
	from     []string
	profile  string
	explain  bool
	rivals   bool
	tables   string
	tuners   []string
	known    string
	seeds    int
	sets     []string
}

func newBench(a *app) *cobra.Command {
	o := &benchOptions{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Benchmark this machine, optionally against PyTorch",
		Long: "Benchmark this machine. Kernels and training steps run on one thread.\n\n" +
			"Suites:\n" +
			suites() + "\n\n" +
			"--json prints the report instead of the table; --report also writes it to a file. --model takes\n" +
			"names of models, or study files with layers.",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE:    a.work(func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) }),
	}
	o.addFlags(cmd)
	return cmd
}

func suites() string {
	line := func(s [2]string) string { return fmt.Sprintf("  %-12s %s", s[0], s[1]) }
	return strings.Join(list.Of(append(bench.Suites(), tunersSuite), line), "\n")
}

func (o *benchOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&o.config.Suites, "suite", nil, "suites to run (default: all except those marked \"only when named\")")
	f.BoolVar(&o.config.Quick, "quick", false, "run fewer rows with shorter measurements; takes seconds")
	f.StringVar(&o.rows, "rows", "", "run only rows whose name and shape match `REGEXP`")
	f.BoolVar(&o.config.Full, "full", false, "run every row count of every matrix product")
	f.StringSliceVar(&o.config.Models, "model", nil, "models for the suites nn, nn-forward and fl: names or study files (default: all)")
	f.StringVar(&o.input, "input", "", "input `SHAPE` for --model: 28x28x1, 784, or 80of90 for 80 tokens out of 90 (default: from the model or the study's data)")
	f.IntVar(&o.config.Classes, "classes", 0, "number of classes for --model (0: the model's own)")
	f.IntVar(&o.config.Batch, "batch", 0, "batch size for these suites (0: each model's own)")
	f.StringVar(&o.against, "against", "", "compare models and rounds with another `SYSTEM`, measured alternately: torch")
	f.StringSliceVar(&o.pythons, "python", nil, "Python interpreters for --against torch, each with its own PyTorch (default: $FEDFAST_PYTHON, python3 or /usr/bin/python3)")
	f.BoolVar(&o.rivals, "rivals", false, "show every PyTorch in a row of its own, not only the fastest beside each row")
	f.BoolVar(&o.config.Compile, "compile", false, "with --against torch, also measure torch.compile, with a C++ compiler")
	f.StringSliceVar(&o.precise, "precision", nil, "precisions to measure: fp32 (default), bf16, bf16-amx, or several to compare them, including PyTorch's autocast")
	f.IntVar(&o.config.Passes, "passes", 0, "alternating passes per row of the suite fl (0: 5)")
	f.IntVar(&o.seeds, "seeds", 0, "number of seeds for the suite tuners (0: 100)")
	f.StringVar(&o.report, "report", "", "also write the report as JSON to this `FILE`, after every row")
	f.StringVar(&o.markdown, "markdown", "", "also write the report as Markdown to this `FILE`")
	f.StringVar(&o.tables, "tables", "", "directory `DIR` of tables for the suite tuners (see fedfast table record)")
	f.StringSliceVar(&o.tuners, "tuner", nil, "`NAMES` of the tuners of the suite tuners (default: the built-in ones)")
	f.StringVar(&o.known, "known", "", "rank with the tuners of `FILE`, the --json of the suite tuners on the same tables and seeds")
	f.StringArrayVar(&o.sets, "set", nil, "set `KEY=VALUE` for every study of the suite tuners, such as score.clients=1 (repeatable)")
	o.plot.addFlags(cmd, "also plot the suite scale or tuners, else the speed of networks beside PyTorch, else beside the limit,")
	f.StringSliceVar(&o.from, "from", nil, "show and plot the report in `FILE`, written by --report, instead of measuring; several from one machine are merged")
	f.BoolVar(&o.explain, "explain", false, "show, layer by layer, where a training step of the one --model takes its time, and the machine's limit")
	f.StringVar(&o.profile, "profile", "", "write a CPU profile for go tool pprof to this `FILE`")
}

func (o *benchOptions) validate() error {
	if o.rows != "" {
		var err error
		if o.config.Rows, err = regexp.Compile(o.rows); err != nil {
			return fmt.Errorf("--rows %s: %w", o.rows, err)
		}
	}
	if o.config.Batch < 0 {
		return fmt.Errorf("--batch %d: must be a positive integer, or 0 for each model's own", o.config.Batch)
	}
	if o.config.Classes < 0 {
		return fmt.Errorf("--classes %d: must be a positive integer, or 0 for each model's own", o.config.Classes)
	}
	if o.against != "" && o.against != "torch" {
		return fmt.Errorf("--against %s: must be torch", o.against)
	}
	for i, name := range o.precise {
		var p nn.Precision
		err := p.Set(name)
		if err == nil && slices.Contains(o.precise[:i], name) {
			err = fmt.Errorf("%s is given twice", name)
		}
		if err != nil {
			return fmt.Errorf("--precision %s: %w", name, err)
		}
		o.config.Precisions = append(o.config.Precisions, p)
	}
	const most = 10_000 // each seed is kept
	if o.seeds < 0 || o.seeds > most {
		return fmt.Errorf("--seeds: must be a positive integer of at most %d, or 0 for the default", most)
	}
	if o.config.Passes < 0 {
		return fmt.Errorf("--passes %d: must be a positive integer, or 0 for the default", o.config.Passes)
	}
	if o.against == "" && (len(o.pythons) > 0 || o.config.Compile) {
		return errors.New("--python and --compile require --against torch")
	}
	if o.input != "" {
		shape, err := bench.ParseInput(o.input)
		if err != nil {
			return fmt.Errorf("--%w", err)
		}
		o.config.Input = shape
	}
	if o.explain && (len(o.config.Models) != 1 || len(o.config.Suites)+len(o.from) > 0 || o.against != "" || o.report != "" || o.markdown != "") {
		return errors.New("--explain requires one --model, and cannot be combined with --suite, --from, --against, --report or --markdown")
	}
	if len(o.config.Models) == 0 && (o.input != "" || o.config.Classes > 0) {
		return errors.New("--input and --classes require --model")
	}
	if err := writable([]output{{"--report", o.report}, {"--markdown", o.markdown}, {"--profile", o.profile}}); err != nil {
		return err
	}
	if err := o.plot.validate(); err != nil {
		return err
	}
	if len(o.from) > 0 && (len(o.config.Suites) > 0 || o.against != "" || o.profile != "") {
		return errors.New("--from shows an existing report and cannot be combined with --suite, --against or --profile")
	}
	for _, name := range o.config.Suites {
		known := list.Of(append(bench.Suites(), tunersSuite), func(s [2]string) string { return s[0] })
		if !slices.Contains(known, name) {
			return fmt.Errorf("--suite %s: unknown suite%s; available: %s", name, key.DidYouMean(name, key.Names(known...)), strings.Join(known, ", "))
		}
	}
	return o.validateTuners()
}

func (o *benchOptions) run(ctx context.Context, a *app) (err error) {
	if o.tables != "" {
		return o.runTuners(ctx, a)
	}
	if len(o.from) > 0 {
		report, err := readReports(o.from)
		if err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		if err := o.write(report); err != nil {
			return err
		}
		return o.print(a, report)
	}
	if o.explain {
		return o.explainModel(ctx, a)
	}
	o.config.Workers = a.workers
	o.config.Each = func(report *bench.Report) error { return writeFile(o.report, asJSON(report)) }
	if o.against == "torch" {
		defer func() {
			for _, t := range o.config.Torch {
				err = errors.Join(err, t.Close())
			}
		}()
		if err := o.startTorch(ctx); err != nil {
			return fmt.Errorf("--against torch: %w", err)
		}
	}
	stop, err := startProfile(o.profile)
	if err != nil {
		return err
	}
	report, err := bench.Run(ctx, o.config, func(line string) { _ = table.Text(a.err, line) })
	if profileErr := stop(); err == nil {
		err = profileErr
	}
	if report == nil && ctx.Err() == nil {
		return usageError{err} // nothing could be measured as it was asked for
	}
	if report == nil {
		return err
	}
	return errors.Join(err, o.print(a, report), o.write(report))
}

// readReports reads a report, or joins several.
func readReports(paths []string) (*bench.Report, error) {
	var reports []*bench.Report
	for _, path := range paths {
		r, err := bench.ReadReport(path)
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	if len(reports) == 1 {
		return reports[0], nil
	}
	return bench.Join(reports...)
}

// startTorch starts a PyTorch for every Python.
func (o *benchOptions) startTorch(ctx context.Context) error {
	pythons := o.pythons
	if len(pythons) == 0 {
		pythons = []string{""}
	}
	for _, python := range pythons {
		t, err := bench.StartTorch(ctx, python)
		if err != nil {
			return err
		}
		o.config.Torch = append(o.config.Torch, t)
	}
	return nil
}

// print prints the report in the form that was asked for.
func (o *benchOptions) print(a *app, report *bench.Report) error {
	if a.json {
		return a.printJSON(report)
	}
	const width = 120 // columns of a screen
	rows, notes := report.Brief(width, o.rivals)
	if err := printMeasured(a, report.Heading(), rows); err != nil {
		return err
	}
	return table.Text(a.out, notes...)
}

// printMeasured prints lines, broken to fit a screen, and a table whose first row is its head.
func printMeasured(a *app, heading []string, rows [][]string) error {
	broken := strings.NewReplacer("; ", ";\n  ", ", /", ",\n  /").Replace(strings.Join(heading, "\n"))
	if err := table.Text(a.out, strings.Split(broken, "\n")...); err != nil {
		return err
	}
	t := table.New(a.out, rows[0]...)
	t.AlignRight()
	for _, row := range rows[1:] {
		t.Row(row...)
	}
	fmt.Fprintln(a.out)
	return t.Flush()
}

// explainModel prints where a training step takes its time.
func (o *benchOptions) explainModel(ctx context.Context, a *app) error {
	e, err := bench.Explain(ctx, o.config)
	switch {
	case err != nil && ctx.Err() == nil:
		return usageError{err}
	case err != nil:
		return err
	case a.json:
		return a.printJSON(e)
	}
	return printMeasured(a, e.Heading(), e.Table())
}

// write writes the files that were asked for.
func (o *benchOptions) write(report *bench.Report) error {
	return errors.Join(writeFile(o.report, asJSON(report)), writeFile(o.markdown, report.WriteMarkdown), o.plot.write(report.Figure))
}

// asJSON returns what writes a report as JSON.
func asJSON(report *bench.Report) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(report)
	}
}

// writeFile writes a file, unless its name is empty.
func writeFile(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	return wholefile.Stream(path, 0o644, write)
}

// startProfile starts a CPU profile, unless path is empty, and returns what ends
// it.
func startProfile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
