package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/nn/safetensors"
)

// replayOptions are the flags of study replay.
type replayOptions struct {
	trial, round, client uint32
	weights              string
	sets                 []string
}

func newReplay(a *app) *cobra.Command {
	o := &replayOptions{}
	cmd := &cobra.Command{
		Use:               "replay STUDY",
		ValidArgsFunction: completeStudy,
		Short:             "Show the local training of one client in one round, step by step",
		Long: "Train a trial of a finished study, in a directory or a pack, again up to a round, and show each local\n" +
			"step of one client in it: the loss, the learning rate, the norms of the gradient and of the step, and\n" +
			"the samples. All that the round measured must equal the record. Nothing of the study changes.",
		Example: "  fedfast study replay first --round 3 --client 7 --weights client.safetensors",
		Args:    cobra.ExactArgs(1),
		RunE:    a.work(func(cmd *cobra.Command, args []string) error { return o.replay(cmd.Context(), a, args[0]) }),
	}
	cmd.Flags().Uint32Var(&o.trial, "trial", 0, "in the trial of the `NUMBER`")
	cmd.Flags().Uint32Var(&o.round, "round", 1, "in the round of the `NUMBER`, from 1")
	cmd.Flags().Uint32Var(&o.client, "client", 0, "of the client of the `INDEX`, from 0")
	cmd.Flags().StringVar(&o.weights, "weights", "", "write the weights to `FILE` with -before and -after in the name")
	cmd.Flags().StringArrayVar(&o.sets, "set", nil, "set `KEY=VALUE` of places of files, such as data.path (repeatable)")
	_ = cmd.MarkFlagRequired("round")  // it is there
	_ = cmd.MarkFlagRequired("client") // it is there
	return cmd
}

// replayed is what study replay prints.
type replayed struct {
	Trial  uint32          `json:"trial"`
	Round  uint32          `json:"round"`
	Client uint32          `json:"client"`
	Steps  []fl.TracedStep `json:"steps"`
	// Change is the norm of the difference of the client's weights from those that the server sent.
	Change float64 `json:"change_norm"`
}

func (o *replayOptions) replay(ctx context.Context, a *app, path string) error {
	s, err := openWhole(ctx, path)
	if err != nil {
		return err
	}
	options := a.again(s.Seal())
	if err := s.Close(); err != nil {
		return err
	}
	end := filepath.Ext(o.weights)
	name := strings.TrimSuffix(o.weights, end)
	names := []string{name + "-before" + end, name + "-after" + end}
	if o.weights != "" {
		if err := writable([]output{{"--weights", names[0]}, {"--weights", names[1]}}); err != nil {
			return usageError{err}
		}
	}
	r := replayed{o.trial, o.round, o.client, []fl.TracedStep{}, 0}
	err = workdir.Again(ctx, path, o.sets, options, func(setup study.Setup) error {
		var failed error
		trace := &fl.Trace{Client: int(o.client), Step: func(s fl.TracedStep) { r.Steps = append(r.Steps, s) }}
		trace.Done = func(change float64, weights ...[]float32) {
			r.Change = change
			for i := range weights {
				if o.weights != "" && failed == nil {
					failed = wholefile.Stream(names[i], 0o644, func(w io.Writer) error {
						return safetensors.Write(w, setup.Model, weights[i])
					})
				}
			}
		}
		if err := study.Trace(ctx, setup, int(o.trial), int(o.round), trace); err != nil {
			return err
		}
		return failed
	})
	if _, ok := errors.AsType[*study.DifferError](err); ok {
		return fmt.Errorf("%s: round %d of trial %d, or one before it, differs from the record; fedfast verify says where",
			oneline.Path(path), o.round, o.trial)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	t := table.New(a.out, "step", "loss", "lr", "gradient", "change", "samples")
	for i, s := range r.Steps {
		numbers := strings.Trim(fmt.Sprint(s.Samples), "[]")
		t.Row(strconv.Itoa(i+1), fmt.Sprintf("%.4g", s.Loss), fmt.Sprintf("%.4g", s.LR), fmt.Sprintf("%.4g", s.Gradient),
			fmt.Sprintf("%.4g", s.Change), numbers)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s of client %d change its weights by %.4g; equal to the record of round %d\n",
		oneline.Count(len(r.Steps), "step"), o.client, r.Change, o.round)
	return nil
}
