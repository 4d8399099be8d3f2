package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/nn/safetensors"
)

// replayOptions are the flags of study replay.
type replayOptions struct {
	trial, round    uint32
	client, weights string
	sets            []string
}

func newReplay(a *app) *cobra.Command {
	o := &replayOptions{}
	cmd := &cobra.Command{
		Use:               "replay STUDY",
		ValidArgsFunction: completeStudy,
		Short:             "Show the local training of one client in one round, step by step",
		Args:              cobra.ExactArgs(1),
		RunE:              a.work(func(cmd *cobra.Command, args []string) error { return o.replay(cmd.Context(), a, args[0]) }),
	}
	cmd.Flags().Uint32Var(&o.trial, "trial", 0, "in the trial of the `NUMBER`")
	cmd.Flags().Uint32Var(&o.round, "round", 0, "in the round of the `NUMBER`, from 1")
	cmd.Flags().StringVar(&o.client, "client", "", "of the `CLIENT`: its index, from 0, or its name in the data")
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
	Client int             `json:"client"`
	Name   string          `json:"name"` // of the client
	Steps  []fl.TracedStep `json:"steps"`
	// Change is the norm of the difference of the client's weights from those that the server sent.
	Change float64 `json:"change_norm"`
}

func (o *replayOptions) replay(ctx context.Context, a *app, path string) error {
	options, _, err := a.again(ctx, path)
	if err != nil {
		return err
	}
	if o.round == 0 {
		return usageError{errors.New("--round 0: rounds count from 1")}
	}
	end := filepath.Ext(o.weights)
	name := strings.TrimSuffix(o.weights, end)
	names := []string{name + "-before" + end, name + "-after" + end}
	if o.weights != "" {
		if err := writable([]output{{"--weights", names[0]}, {"--weights", names[1]}}); err != nil {
			return usageError{err}
		}
	}
	r := replayed{Trial: o.trial, Round: o.round, Steps: []fl.TracedStep{}}
	part := study.Part{Trial: int(o.trial), Rounds: int(o.round)}
	part.Watch.Trace = &fl.Trace{Step: func(s fl.TracedStep) { r.Steps = append(r.Steps, s) }}
	var failed error
	options.Ready = func(_ context.Context, setup *study.Setup) (err error) {
		if r.Client, err = clientOf(setup.Data, o.client); err != nil {
			return err
		}
		r.Name, part.Watch.Trace.Client = setup.Data.Clients[r.Client].ID, r.Client
		part.Watch.Trace.Done = func(change float64, weights ...[]float32) {
			r.Change = change
			for i := range weights {
				if o.weights != "" && failed == nil {
					failed = wholefile.Stream(names[i], 0o644, func(w io.Writer) error {
						return safetensors.Write(w, setup.Model, weights[i])
					})
				}
			}
		}
		return nil
	}
	_, err = workdir.Verify(ctx, path, o.sets, options, part)
	if _, ok := errors.AsType[*study.DifferError](err); ok {
		return fmt.Errorf("%s: round %d of trial %d, or one before it, differs from the record; fedfast verify says where",
			oneline.Path(path), o.round, o.trial)
	}
	if err = cmp.Or(err, failed); err != nil {
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
		oneline.Count(len(r.Steps), "step"), r.Client, r.Change, o.round)
	return nil
}

// clientOf finds a client by its index or its name.
func clientOf(fed *data.Federation, client string) (int, error) {
	i, err := strconv.Atoi(client)
	if err != nil {
		i = slices.IndexFunc(fed.Clients, func(c data.Client) bool { return c.ID == client })
	}
	if i < 0 || i >= len(fed.Clients) {
		return 0, usageError{fmt.Errorf("--client %s: no such client; give its name, or its index from 0 to %d",
			oneline.Name(client), len(fed.Clients)-1)}
	}
	return i, nil
}
