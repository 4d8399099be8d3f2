package command

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/nn/safetensors"
)

// modelGenotypeOptions are the flags of model genotype.
type modelGenotypeOptions struct {
	random bool
	output string
}

func newModelGenotype(a *app) *cobra.Command {
	o := &modelGenotypeOptions{}
	cmd := &cobra.Command{
		Use:   "genotype STUDY|MODEL.safetensors",
		Short: "Derive the network found by a DARTS search",
		Args:  cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !o.random {
				return errors.New("requires a study or the file of a searched model, or --random")
			}
			return nil
		},
		RunE: a.work(func(_ *cobra.Command, args []string) error {
			return o.run(a, append(args, "")[0])
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.output, "out", "", "write a study `FILE`, such as derived.toml")
	f.BoolVar(&o.random, "random", false, "draw a random genotype from --seed; the data are still the study's, if one is given")
	return cmd
}

// derived is what model genotype tells.
type derived struct {
	Model string `json:"model,omitempty"` // the file that was searched
	models.Genotype
	Layers int `json:"layers"`
	// Parameters and FLOPs, of a sample's forward pass, are those for CIFAR-10.
	Parameters int    `json:"parameters"`
	FLOPs      int64  `json:"flops"`
	Study      string `json:"study,omitempty"`
}

func (o *modelGenotypeOptions) run(a *app, path string) error {
	if o.output != "" {
		if err := free(o.output); err != nil {
			return err
		}
	}
	var c *config.Config
	if path != "" {
		var err error
		if path, c, err = searched(path); err != nil {
			return err
		}
	}
	r := derived{Study: o.output}
	if o.random {
		r.Genotype = *models.RandomGenotype(a.seed)
	} else {
		tensors, err := safetensors.ReadTensors(path)
		if err != nil {
			return err
		}
		g, err := models.Derive(tensors)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r.Model, r.Genotype = path, *g
	}
	layers, err := r.Genotype.Layers()
	if err != nil {
		return err
	}
	m, err := models.FromLayers(layers, nn.Shape{H: 32, W: 32, C: 3}, 10)
	if err != nil {
		return err
	}
	r.Layers, r.Parameters = len(layers), m.NumParams()
	r.FLOPs, _ = m.FLOPs()
	if o.output != "" {
		if err := o.write(a, &r, c, layers); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(r)
	}
	return r.print(a, c != nil)
}

// searched finds a model's file and the configuration beside it, if there is one.
func searched(path string) (file string, c *config.Config, err error) {
	dir, path, err := modelFile(path)
	if err != nil {
		return "", nil, err
	}
	text, err := wholefile.Read(filepath.Join(dir, workdir.ConfigFile))
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	if err == nil {
		c, err = config.Load(config.Source{Text: string(text)})
	}
	return path, c, err
}

// write writes the study file.
func (o *modelGenotypeOptions) write(a *app, r *derived, c *config.Config, layers []models.LayerSpec) error {
	from := fmt.Sprintf("drawn with seed %d", a.seed)
	if !o.random {
		from = "derived from " + filepath.ToSlash(r.Model)
	}
	name := strings.TrimSuffix(filepath.Base(o.output), filepath.Ext(o.output))
	text := fmt.Appendf(nil, "# Cells %s, by fedfast model genotype.\nname = %s\n", from, strconv.Quote(name))
	if c != nil {
		data, err := config.EncodeData(c.Data)
		if err != nil {
			return err
		}
		text = append(text, data...)
	}
	specs, err := config.EncodeLayers(layers)
	if err != nil {
		return err
	}
	return wholefile.Write(o.output, append(text, specs...), 0o644)
}

func (r *derived) print(a *app, data bool) error {
	head := []string{"cell", "node", "reads", "by"}
	if r.Model != "" {
		head = append(head, "share")
	}
	t := table.New(a.out, head...)
	for _, cell := range []struct {
		kind  string
		edges []models.Edge
	}{{"normal", r.Normal}, {"reduce", r.Reduce}} {
		for _, e := range cell.edges {
			row := []string{cell.kind, strconv.Itoa(e.Node), strconv.Itoa(e.From), e.Operation}
			if r.Model != "" {
				row = append(row, fmt.Sprintf("%.3f", e.Share))
			}
			t.Row(row...)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	t = table.New(a.out)
	t.Row("layers", oneline.Digits(r.Layers))
	t.Row("parameters", oneline.Digits(r.Parameters)+" for CIFAR-10")
	t.Row("forward pass", fmt.Sprintf("%.1f MFLOP per sample", float64(r.FLOPs)/1e6))
	if r.Study != "" {
		t.Row("study file", r.Study)
		set := " --set data.name=NAME"
		if data {
			set = ""
		}
		t.Row("train with", "fedfast run "+oneline.Path(r.Study)+set)
	}
	return t.Flush()
}
