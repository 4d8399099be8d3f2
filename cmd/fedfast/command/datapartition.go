package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

// partitionOptions are the flags of data partition.
type partitionOptions struct {
	dataOptions
	plot plotOptions
}

func newDataPartition(a *app) *cobra.Command {
	o := &partitionOptions{}
	cmd := &cobra.Command{
		Use:               "partition [NAME]",
		ValidArgsFunction: completeFirst(setNames),
		Short:             "Show how samples and classes are distributed over clients",
		Args:              cobra.MaximumNArgs(1),
		PreRunE:           func(*cobra.Command, []string) error { return o.plot.validate() },
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			c, err := o.validate(a, args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), a, c)
		}),
	}
	o.addFlags(cmd)
	o.plot.addFlags(cmd, "plot the classes of each client as stacked bars")
	return cmd
}

// partitionSummary is what data partition tells.
type partitionSummary struct {
	Name    string     `json:"name"`
	Clients int        `json:"clients"`
	Unseen  int        `json:"unseen_clients"`
	Train   data.Sizes `json:"train"`
	Val     data.Sizes `json:"val"`
	Test    data.Sizes `json:"test"`
	Central int        `json:"central_test,omitempty"` // examples of the test set that is of no client
	Classes int        `json:"classes"`
	// Held are the classes that a client has examples of.
	Held data.Sizes `json:"classes_of_a_client"`
	// Distances tell how far the classes of a client's parts differ.
	Distances data.Distances `json:"class_distance"`
	// Entropy is the entropy of the classes of all examples together, MeanEntropy the
	// clients' own on average, in nats.
	Entropy     float64  `json:"class_entropy"`
	MeanEntropy float64  `json:"mean_class_entropy_of_a_client"`
	Notes       []string `json:"notes"`
}

func (o *partitionOptions) run(ctx context.Context, a *app, c *config.Config) error {
	fed, err := config.OpenData(ctx, c)
	if err != nil {
		return err
	}
	if most := 1000; fed.Lazy && !fed.Synthetic && len(fed.Clients) > most {
		return fmt.Errorf("%s: too many clients (%d) to count classes; show the first %d with --set data.clients=%d", fed.Name, len(fed.Clients), most, most)
	}
	clients, err := classesOf(fed)
	if err != nil {
		return err
	}
	if err := o.plot.write(func() (*figure.Figure, error) { return partitionFigure(fed, clients), nil }); err != nil {
		return err
	}
	s, err := summarize(fed, clients)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(s)
	}
	t := table.New(a.out)
	t.Row("set", s.Name)
	t.Row("clients", oneline.Digits(s.Clients))
	if s.Unseen > 0 {
		t.Row("unseen clients", oneline.Digits(s.Unseen))
	}
	for _, part := range []struct {
		name string
		data.Sizes
	}{{"train", s.Train}, {"validation", s.Val}, {"test", s.Test}} {
		t.Row(part.name+" samples", oneline.Digits(part.Total)+", per client "+sizesText(part.Sizes))
	}
	if s.Central > 0 {
		t.Row("test set", oneline.Digits(s.Central)+" samples not owned by any client")
	}
	t.Row("classes", oneline.Digits(s.Classes)+", per client "+sizesText(s.Held))
	if !fed.Lazy || fed.Synthetic {
		t.Row("class entropy", fmt.Sprintf("%.3f nats over all samples, %.3f per client on average", s.Entropy, s.MeanEntropy))
	}
	for _, d := range []struct {
		parts string
		data.Distance
	}{{"train/validation", s.Distances.TrainVal}, {"train/test", s.Distances.TrainTest}, {"validation/test", s.Distances.ValTest}} {
		if d.Clients > 0 {
			const form = "%.3f on average, %.3f at most; %.3f for a random split"
			t.Row(d.parts+" classes", fmt.Sprintf(form, d.Mean, d.Max, d.Random))
		}
	}
	for _, n := range s.Notes {
		t.Row("note", n)
	}
	return t.Flush()
}

// sizesText writes what one client has.
func sizesText(s data.Sizes) string {
	return fmt.Sprintf("%s to %s, median %s", oneline.Digits(s.Min), oneline.Digits(s.Max), oneline.Digits(s.Median))
}

// partitionFigure draws what classesOf counted.
func partitionFigure(fed *data.Federation, clients []figure.Bar) *figure.Figure {
	title := fmt.Sprintf("%s: %d clients, %d classes", fed.Name, len(clients), fed.Classes)
	bars := &figure.Bars{Unit: "client", Class: "class", Bars: clients}
	return &figure.Figure{Name: "partition", Title: title, Panels: []figure.Panel{{Y: figure.Axis{Label: "samples"}, Bars: bars}}}
}

// classesOf counts the classes of every client's examples.
func classesOf(fed *data.Federation) ([]figure.Bar, error) {
	clients := make([]figure.Bar, len(fed.Clients))
	for i := range clients {
		c := &fed.Clients[i]
		clients[i] = figure.Bar{Name: c.ID, Counts: make([]int, fed.Classes)}
		for _, v := range []data.View{c.Train, c.Val, c.Test} {
			counts, err := v.ClassCounts(fed.Classes)
			if err != nil {
				return nil, err
			}
			for class, n := range counts {
				clients[i].Counts[class] += n
			}
		}
	}
	return clients, nil
}

// summarize gathers the facts.
func summarize(fed *data.Federation, clients []figure.Bar) (partitionSummary, error) {
	s, err := data.Summarize(fed)
	if err != nil {
		return partitionSummary{}, err
	}
	held, there := make([]int, len(clients)), make([]bool, fed.Classes)
	for i, c := range clients {
		for class, n := range c.Counts {
			if n > 0 {
				held[i]++
				there[class] = true
			}
		}
	}
	apart, err := data.ClassDistances(fed)
	if err != nil {
		return partitionSummary{}, err
	}
	classes := list.Count(there, func(is bool) bool { return is })
	slices.Sort(held)
	return partitionSummary{
		Name: fed.Name, Clients: s.Clients, Unseen: s.Unseen,
		Train: s.Train, Val: s.Val, Test: s.Test, Central: s.Central,
		Classes: classes, Held: data.Sizes{Total: classes, Min: held[0], Median: held[len(held)/2], Max: held[len(held)-1]},
		Distances: apart,
		Entropy:   s.Entropy, MeanEntropy: s.MeanEntropy, Notes: append([]string{}, fed.Notes...),
	}, nil
}
