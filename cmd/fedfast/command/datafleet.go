package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/table"
	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/oneline"
)

func newDataFleet(a *app) *cobra.Command {
	o := &configOptions{}
	cmd := &cobra.Command{
		Use:   "fleet [FILE]",
		Short: "Show the simulated devices of the clients",
		Args:  cobra.MaximumNArgs(1),
		RunE: a.work(func(cmd *cobra.Command, args []string) error {
			c, places, err := o.load(a, args, "")
			if err != nil {
				return err
			}
			if err := c.Check(); err != nil {
				return usageError{places.Explain(err)}
			}
			return a.fleet(cmd.Context(), c)
		}),
	}
	o.addFlags(cmd)
	return cmd
}

// levels are the quantiles that are shown.
var levels = []float64{0, 0.05, 0.25, 0.5, 0.75, 0.95, 1}

// quantity is how a quantity differs over the clients.
type quantity struct {
	Name      string    `json:"name"`
	Unit      string    `json:"unit"`
	Quantiles []float64 `json:"quantiles"`
	sorted    []float64
}

// fleetSummary is what data fleet tells.
type fleetSummary struct {
	Devices      string `json:"devices"`
	Availability string `json:"availability"`
	Clients      int    `json:"clients"`
	// Memory are the bytes that the local training of the whole network takes, Small the
	// clients whose devices have less.
	Memory     int64      `json:"memory"`
	Small      int        `json:"small"`
	Levels     []float64  `json:"levels"` // of the quantiles
	Quantities []quantity `json:"quantities"`
	// Failed is the share of jobs that fail, of those that begin while the client is
	// available.
	Failed float64 `json:"failed"`
	// Available is the share of clients that are available at each quarter of an hour of
	// the first day, from 0.
	Available []float64 `json:"available"`
	Notes     []string  `json:"notes"`
}

// fleet prints the devices of a study's clients.
func (a *app) fleet(ctx context.Context, c *config.Config) error {
	fed, m, err := config.Prepare(ctx, c)
	if err != nil {
		return err
	}
	defer func() { _ = fed.Close() }() // it was read only
	job, memory, err := workdir.Jobs(c, fed, m)
	if err != nil {
		return err
	}
	_, flops := m.FLOPs()
	s, err := summarizeFleet(c, fed, float64(flops), memory, job)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(s)
	}
	return s.print(a)
}

// summarizeFleet asks a fleet of all its clients; flops are the operations of the model for a
// sample, memory the bytes of its local training.
func summarizeFleet(c *config.Config, fed *data.Federation, flops float64, memory int64, job func(client int) fleet.Job) (*fleetSummary, error) {
	var cfg fleet.Config
	if given := c.Devices(); given != nil {
		cfg = *given
	}
	cfg.SampleFLOPs = flops
	clients := list.Of(fed.Clients, func(c data.Client) fleet.Client {
		return fleet.Client{ID: c.ID, Samples: c.Train.Len(), Memory: memory}
	})
	f, err := fleet.New(cfg, c.Seed, clients)
	if err != nil {
		return nil, err
	}
	s := &fleetSummary{
		Devices: cmp.Or(cfg.Devices, fleet.Kinds[0]), Availability: cmp.Or(cfg.Availability,
			fleet.Patterns[0]), Clients: len(clients), Memory: memory, Small: len(clients) - f.Able(), Levels: levels,
		Notes: []string{},
	}
	s.measure(f.Steady(), job)
	s.Failed = failing(f, len(clients), job)
	s.Available = available(f, len(clients))
	if cfg.Devices == "phones" {
		s.Notes = append(s.Notes, "phones: links of 19 users, scores of 279 phones and the training times of 3, measured for FLASH; speeds assume 10 samples in FLASH's batches, which is not verified")
	}
	return s, nil
}

// measure gathers the speeds and times of all clients.
func (s *fleetSummary) measure(f *fleet.Fleet, job func(client int) fleet.Job) {
	s.Quantities = []quantity{
		{Name: "speed", Unit: "GFLOP/s"},
		{Name: "download", Unit: "MB/s"},
		{Name: "upload", Unit: "MB/s"},
		{Name: "time to receive", Unit: "s"},
		{Name: "time to train", Unit: "s"},
		{Name: "time to send", Unit: "s"},
		{Name: "time of a job", Unit: "s"},
	}
	for client := range s.Clients {
		d, o := f.Device(client), f.Run(job(client))
		for i, x := range []float64{
			d.FLOPS / 1e9, d.Down / 1e6, d.Up / 1e6,
			float64(o.Received) / 1e9, float64(o.Computed-o.Received) / 1e9, float64(o.End-o.Computed) / 1e9, float64(o.End) / 1e9,
		} {
			s.Quantities[i].sorted = append(s.Quantities[i].sorted, x)
		}
	}
	for i := range s.Quantities {
		x := &s.Quantities[i]
		slices.Sort(x.sorted)
		for _, level := range levels {
			x.Quantiles = append(x.Quantiles, x.at(level))
		}
	}
}

// at returns the quantile at a level: the smallest value that such a share is not above.
func (x *quantity) at(level float64) float64 {
	n := len(x.sorted)
	return x.sorted[min(n-1, int(level*float64(n)))]
}

// failing returns the share of jobs that fail, of one for each client that begins when
// the client is first available after a day.
func failing(f *fleet.Fleet, clients int, job func(client int) fleet.Job) float64 {
	failed, begun := 0, 0
	for client := range clients {
		j := job(client)
		j.Start = day
		on, until := f.Available(client, j.Start)
		for n := 0; !on && until < 1000*day && n < 1000; n++ {
			j.Start = until
			on, until = f.Available(client, j.Start)
		}
		if !on {
			continue
		}
		begun++
		if f.Run(j).Failed {
			failed++
		}
	}
	return float64(failed) / float64(max(1, begun))
}

const (
	day = int64(86400e9) // nanoseconds
	// quarters are the quarters of an hour in a day.
	quarters = 96
	// mostAsked bounds how many clients are asked when they are available.
	mostAsked = 5000
)

// available returns the share of clients that are available at each quarter of an hour.
func available(f *fleet.Fleet, clients int) []float64 {
	shares := make([]float64, quarters+1)
	asked := min(clients, mostAsked)
	for i := range asked {
		client := i * clients / asked
		for q := range shares {
			if on, _ := f.Available(client, int64(q)*(day/quarters)); on {
				shares[q]++
			}
		}
	}
	for q := range shares {
		shares[q] /= float64(max(1, asked))
	}
	return shares
}

func (s *fleetSummary) print(a *app) error {
	t := table.New(a.out)
	t.Row("devices", s.Devices)
	t.Row("availability", s.Availability)
	t.Row("clients", oneline.Digits(s.Clients))
	least, most := slices.Min(s.Available), slices.Max(s.Available)
	mean := 0.0
	for _, x := range s.Available[:quarters] {
		mean += x / quarters
	}
	there := "all clients at any time"
	if least < 1 {
		there = fmt.Sprintf("%.1f %% of the clients over a day, %.1f to %.1f %%", 100*mean, 100*least, 100*most)
	}
	t.Row("available", there)
	need := fmt.Sprintf("local training takes %.3g MB", float64(s.Memory)/1e6)
	if s.Small > 0 {
		need += fmt.Sprintf("; %s less and never take part", oneline.Count(s.Small, "client")+have(s.Small))
	}
	t.Row("memory", need)
	t.Row("jobs that fail", fmt.Sprintf("%.1f %%", 100*s.Failed))
	for _, n := range s.Notes {
		t.Row("note", n)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.out)
	q := table.New(a.out, "per client", "unit", "least", "5 %", "25 %", "median", "75 %", "95 %", "most")
	for _, x := range s.Quantities {
		quantiles := list.Of(x.Quantiles, func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) })
		q.Row(append([]string{x.Name, x.Unit}, quantiles...)...)
	}
	return q.Flush()
}
