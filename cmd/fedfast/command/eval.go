package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/export"
	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/nn/safetensors"
	"github.com/fedfast/fedfast/tuners"
)

// evalOptions are the flags of eval.
type evalOptions struct {
	configOptions
	predictions string
	splits      []string
}

func newEval(a *app) *cobra.Command {
	o := &evalOptions{}
	cmd := &cobra.Command{
		Use:     "eval STUDY|MODEL.safetensors [FILE]",
		Short:   "Evaluate a model, optionally writing its predictions",
		Args:    cobra.RangeArgs(1, 2),
		PreRunE: func(*cobra.Command, []string) error { return o.validate() },
		RunE:    a.work(func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args[0], args[1:]) }),
	}
	o.addFlags(cmd)
	cmd.Flags().StringVar(&o.predictions, "predictions", "", "write the global model's prediction for each sample to `FILE` (.parquet or .csv)")
	cmd.Flags().StringSliceVar(&o.splits, "split", []string{"test"}, "with --predictions, which samples: train, val, test")
	return cmd
}

func (o *evalOptions) validate() error {
	for _, s := range o.splits {
		if !slices.Contains(splitNames, s) {
			return fmt.Errorf("--split %s: must be one of %s", s, strings.Join(splitNames, ", "))
		}
	}
	if o.predictions != "" {
		if err := export.CheckPredictions(o.predictions); err != nil {
			return fmt.Errorf("--predictions %w", err)
		}
	}
	return nil
}

var splitNames = []string{"train", "val", "test"}

// evaluated is what eval tells.
type evaluated struct {
	Model   string `json:"model"` // its file
	Data    string `json:"data"`
	Clients int    `json:"clients"`
	// Params are the hyperparameters of the study's trial, with which clients train the personalized
	// models.
	Params tuners.Params `json:"params,omitempty"`
	result.Errors
	WeightsSHA256 string   `json:"weights_sha256"`
	Predictions   string   `json:"predictions,omitempty"`
	Notes         []string `json:"notes,omitempty"`
}

func (o *evalOptions) run(ctx context.Context, a *app, model string, files []string) error {
	r := evaluated{Model: model}
	c, dir, err := o.config(a, &r, files)
	if err != nil {
		return err
	}
	if err := writable([]output{{"--predictions", o.predictions}}); err != nil {
		return err
	}
	fed, net, err := config.Prepare(ctx, c)
	if err != nil {
		return err
	}
	setup := study.Setup{Config: *c, Data: fed, Model: net, Workers: a.workers}
	weights, err := safetensors.Read(r.Model, setup.Model)
	if err != nil {
		return err
	}
	r.Data, r.Clients, r.WeightsSHA256 = setup.Data.Name, len(setup.Data.Clients), setup.Model.SHA256(weights)
	var saved *savedModel
	if dir != "" {
		saved = findSaved(ctx, dir, &r)
	}
	again, err := saved.remeasure(ctx, a, &setup, &r)
	if err != nil {
		return err
	}
	if again != nil {
		weights, r.Params, r.Errors, r.WeightsSHA256 = again.Weights, again.Params, again.Errors, again.SHA256
	} else {
		if setup.Model.Folds() {
			r.Notes = append(r.Notes, "the file stores the constant forget bias as part of the biases; removing it rounds them, so weights_sha256 differs from the study's")
		}
		errs, err := study.Measure(ctx, setup, weights, r.Params)
		if err != nil {
			return err
		}
		r.Errors = *errs
	}
	if o.predictions != "" {
		if err := export.Predictions(ctx, setup, weights, o.splits, o.predictions); err != nil {
			return err
		}
		r.Predictions = o.predictions
	}
	return a.printEvaluated(&r)
}

// config finds the model's file and the configuration that says model and federation, and
// the directory of the study whose that is, empty for none.
func (o *evalOptions) config(a *app, r *evaluated, files []string) (*config.Config, string, error) {
	dir, file, err := modelFile(r.Model)
	if err != nil {
		return nil, "", err
	}
	r.Model = file
	if len(files) > 0 || o.preset != "" {
		c, _, err := o.load(a, files, config.ModeRun)
		if err == nil && config.FromFile(c.Init) {
			c.Init = "" // the model is the one that was named
		}
		return c, "", err
	}
	path := filepath.Join(dir, workdir.ConfigFile)
	text, err := wholefile.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	if err != nil {
		return nil, "", usageError{fmt.Errorf("%s: no %s in its directory; give a study file or --preset for the model and data", r.Model, workdir.ConfigFile)}
	}
	src := config.Source{Text: string(text), Sets: o.sets}
	if a.seedGiven {
		src.Seed = &a.seed
	}
	c, places, err := config.LoadPlaced(src)
	if err == nil {
		err = places.CheckSet(c, config.ModeRun)
	}
	if err != nil {
		return nil, "", usageError{err}
	}
	if slices.Contains(c.Missing(), "init") {
		c.Init = "" // what the study began from is gone
	}
	return c, dir, nil
}

// modelFile finds the file of a model that is named by itself or by the directory of
// a finished study, and the directory in which it is.
func modelFile(path string) (dir, file string, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", usageError{fmt.Errorf("%s: no such study or model%s", path, meantStudy(path))}
	case err != nil:
		return "", "", usageError{err}
	case filepath.Ext(path) == ".toml":
		return "", "", usageError{fmt.Errorf("%s is a study file, not a model; give the directory of a finished study, or MODEL.safetensors followed by the study file", path)}
	case !info.IsDir() && !info.Mode().IsRegular():
		return "", "", usageError{fmt.Errorf("%s is neither a file nor a directory", path)}
	}
	if !info.IsDir() {
		return filepath.Dir(path), path, nil
	}
	file = filepath.Join(path, workdir.ModelFile)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		switch {
		case workdir.HoldsSeeds(path):
			return "", "", severalSeeds(path, "give one of its subdirectories")
		case workdir.Holds(path):
			return "", "", usageError{fmt.Errorf("%s: study has not finished, so it has no %s; run `fedfast study resume %s` to finish it", path, workdir.ModelFile, oneline.Path(path))}
		}
		return "", "", usageError{fmt.Errorf("%s: contains no study and no %s", path, workdir.ModelFile)}
	}
	return path, file, nil
}

// printEvaluated prints a measured model in the form that was asked for.
func (a *app) printEvaluated(r *evaluated) error {
	if a.json {
		return a.printJSON(r)
	}
	if err := printErrors(a.out, view.Model{Name: "model", Errors: r.Errors}); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	t := table.New(a.out)
	t.Row("model", r.Model)
	t.Row("data", fmt.Sprintf("%s, %s clients", r.Data, oneline.Digits(r.Clients)))
	t.Row("weights_sha256", r.WeightsSHA256)
	if r.Predictions != "" {
		t.Row("predictions", r.Predictions)
	}
	for _, n := range r.Notes {
		t.Row("note", n)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return printVerdict(a.out, r.Verdict())
}

// printVerdict prints what is wrong with what was trained, if anything.
func printVerdict(w io.Writer, verdict []string) error {
	if len(verdict) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	lines := list.Of(verdict, func(v string) string { return "warning: " + v })
	return table.Text(w, lines...)
}
