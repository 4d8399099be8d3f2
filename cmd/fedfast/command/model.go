package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/export"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/torchmodel"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/nn/safetensors"
)

func newModel(a *app) *cobra.Command {
	return group("model", "Import models from PyTorch, export them, and derive searched networks", newModelImport(a), newModelExport(a), newModelGenotype(a))
}

// modelImportOptions are the flags of model import.
type modelImportOptions struct {
	torchmodel.Source
	output string
}

func newModelImport(a *app) *cobra.Command {
	o := &modelImportOptions{}
	cmd := &cobra.Command{
		Use:     "import SCRIPT.py",
		Short:   "Convert a PyTorch module to a study file and weights",
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return o.Check() },
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			o.Script = args[0]
			return o.run(cmd.Context(), a)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Class, "class", "", "`MODULE` to import: a class, function or instance in the script, or a call such as 'Net(10)'; required if there are several")
	f.StringVar(&o.Input, "input", "", "input `SHAPE`: 3x32x32 (channels, rows, columns), 9x128 (channels, steps), 784, or 80tokens")
	f.StringVar(&o.Weights, "weights", "", "load the state_dict from this `FILE`, written by torch.save (default: initialize with seed 0)")
	f.StringVar(&o.Python, "python", "", "Python `INTERPRETER` with PyTorch 1.13 or later (default: $FEDFAST_PYTHON, python3 or /usr/bin/python3)")
	f.StringVar(&o.output, "out", "", "write NAME.toml and NAME.safetensors (default `NAME`: the script's)")
	return cmd
}

// imported is what model import tells.
type imported struct {
	Module     string   `json:"module"`
	Layers     int      `json:"layers"`
	Parameters int      `json:"parameters"`
	Difference float64  `json:"difference"` // of predictions, as a share of the largest value
	Study      string   `json:"study"`
	Weights    string   `json:"weights"`
	Notes      []string `json:"notes,omitempty"`
}

func (o *modelImportOptions) run(ctx context.Context, a *app) error {
	name := cmp.Or(o.output, strings.TrimSuffix(filepath.Base(o.Script), ".py"))
	study, weights := name+".toml", name+".safetensors"
	if err := free(study, weights); err != nil {
		return err
	}
	m, err := o.from(ctx)
	if err != nil {
		return err
	}
	text, err := config.EncodeLayers(m.Layers)
	if err != nil {
		return err
	}
	r := imported{Module: m.Name, Layers: len(m.Layers), Parameters: m.Model.NumParams(), Difference: m.Difference, Study: study, Weights: weights, Notes: m.Notes}
	if err := wholefile.Stream(weights, 0o644, func(w io.Writer) error { return safetensors.Write(w, m.Model, m.Weights) }); err != nil {
		return err
	}
	head := fmt.Sprintf("# %s of %s, by fedfast model import.\nname = %s\ninit = %s\n", m.Name,
		oneline.Of(filepath.Base(o.Script)), strconv.Quote(filepath.Base(name)), strconv.Quote(filepath.ToSlash(weights)))
	if err := wholefile.Write(study, append([]byte(head), text...), 0o644); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	t := table.New(a.out)
	t.Row("module", r.Module)
	t.Row("layers", oneline.Digits(r.Layers))
	t.Row("parameters", oneline.Digits(r.Parameters))
	t.Row("largest difference", fmt.Sprintf("%.1e between the outputs", r.Difference))
	t.Row("study file", study)
	t.Row("weights", weights)
	for _, n := range m.Notes {
		t.Row("note", n)
	}
	t.Row("train with", fmt.Sprintf("fedfast run %s --set data.name=NAME", oneline.Path(study)))
	return t.Flush()
}

// from imports by the first Python that has PyTorch.
func (o *modelImportOptions) from(ctx context.Context) (*torchmodel.Imported, error) {
	if o.Python != "" {
		return torchmodel.Import(ctx, o.Source)
	}
	var lack error
	for _, python := range append(filepath.SplitList(os.Getenv("FEDFAST_PYTHON")), "python3", "/usr/bin/python3") {
		s := o.Source
		s.Python = python
		m, err := torchmodel.Import(ctx, s)
		if !errors.Is(err, torchmodel.ErrNoTorch) {
			return m, err
		}
		lack = cmp.Or(lack, err)
	}
	return nil, lack
}

// free returns an error for a file that is there.
func free(paths ...string) error {
	for _, p := range paths {
		if _, err := os.Lstat(p); err == nil {
			return fmt.Errorf("%s already exists; remove it or choose another name with --out", p)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// modelExportOptions are the flags of model export.
type modelExportOptions struct {
	evalOptions
	output string
}

func newModelExport(a *app) *cobra.Command {
	o := &modelExportOptions{}
	cmd := &cobra.Command{
		Use:   "export STUDY|MODEL.safetensors [FILE]",
		Short: "Export a model to PyTorch, as a Python file",
		Args:  cobra.RangeArgs(1, 2),
		RunE:  a.work(func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0], args[1:]) }),
	}
	o.addFlags(cmd)
	cmd.Flags().StringVar(&o.output, "out", "", "Python `FILE` to write (default: name of the weights file with .py)")
	return cmd
}

func (o *modelExportOptions) run(ctx context.Context, a *app, model string, files []string) error {
	found := evaluated{Model: model}
	c, _, err := o.config(a, &found, files)
	if err != nil {
		return err
	}
	output := cmp.Or(o.output, strings.TrimSuffix(found.Model, filepath.Ext(found.Model))+".py")
	if err := free(output, strings.TrimSuffix(output, ".py")+".inputs.json"); err != nil {
		return err
	}
	fed, m, err := config.Prepare(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = fed.Close() }() // it was read only
	if _, err := safetensors.Read(found.Model, m); err != nil {
		return err
	}
	beside, err := filepath.Rel(filepath.Dir(output), found.Model)
	if err != nil {
		if beside, err = filepath.Abs(found.Model); err != nil {
			return err
		}
	}
	text, err := torchmodel.Export(m, filepath.ToSlash(beside), torchmodel.Normalized(fed.Normalized, c.Data.Normalize))
	if err != nil {
		return err
	}
	inputs := strings.TrimSuffix(output, ".py") + ".inputs.json"
	if fed.Inputs == nil {
		inputs = ""
	} else if of, err := export.Inputs(&c.Data, fed); err != nil {
		return err
	} else if err := wholefile.Write(inputs, of, 0o644); err != nil {
		return err
	}
	if err := wholefile.Write(output, []byte(text), 0o644); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]string{"python": output, "weights": found.Model, "inputs": inputs})
	}
	t := table.New(a.out)
	t.Row("python", output)
	t.Row("weights", found.Model)
	switch {
	case inputs != "":
		t.Row("inputs", fmt.Sprintf("%s: of a new row's columns, their places, fills, means and scales", inputs))
	case fed.Columns != nil:
		t.Row("inputs", "each client scales its columns by its own samples")
	}
	load := fmt.Sprintf("from %s import load; model = load()", strings.TrimSuffix(filepath.Base(output), ".py"))
	if !regexp.MustCompile(`^[A-Za-z_]\w*\.py$`).MatchString(filepath.Base(output)) { // Python cannot import it
		load = fmt.Sprintf("import runpy; model = runpy.run_path(%q)[\"load\"]()", filepath.Base(output))
	}
	t.Row("load with", load)
	return t.Flush()
}
