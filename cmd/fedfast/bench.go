package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/bench"
)

// benchOptions are the flags of bench.
type benchOptions struct {
	config bench.Config
	json   string
}

func newBench(a *app) *cobra.Command {
	o := &benchOptions{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the throughput of this machine",
		Long:  "Measure the throughput of this machine on one thread. Suites:\n" + suites(),
		Args:  cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			return o.validate()
		},
		RunE: a.work(func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) }),
	}
	o.addFlags(cmd)
	return cmd
}

func suites() string {
	var lines []string
	for _, s := range bench.Suites() {
		lines = append(lines, fmt.Sprintf("  %-12s %s", s[0], s[1]))
	}
	return strings.Join(lines, "\n")
}

func (o *benchOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&o.config.Suites, "suite", nil, "suites to run (default all)")
	f.BoolVar(&o.config.Quick, "quick", false, "fewer rows and shorter samples: seconds")
	f.BoolVar(&o.config.Full, "full", false, "every row count of every product")
	f.StringSliceVar(&o.config.Models, "model", nil, "models of the nn suites (default all)")
	f.IntVar(&o.config.Batch, "batch", 0, "batch size of the nn suites; 0 is each model's own")
	f.StringVar(&o.json, "json", "", "also write the report as JSON to this file")
}

func (o *benchOptions) validate() error {
	if o.config.Batch < 0 {
		return fmt.Errorf("--batch %d: must be 1 or more, or 0 for each model's own", o.config.Batch)
	}
	for _, name := range o.config.Suites {
		var known []string
		for _, s := range bench.Suites() {
			known = append(known, s[0])
		}
		if !slices.Contains(known, name) {
			return fmt.Errorf("--suite %s: there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

func (o *benchOptions) run(ctx context.Context, a *app) error {
	report, err := bench.Run(ctx, o.config, func(line string) { fmt.Fprintln(a.err, line) })
	if report == nil {
		return err
	}
	if tableErr := report.WriteTable(a.out); tableErr != nil {
		return tableErr
	}
	if o.json == "" {
		return err
	}
	text, encodeErr := json.MarshalIndent(report, "", "  ")
	if encodeErr != nil {
		return encodeErr
	}
	return errors.Join(err, os.WriteFile(o.json, append(text, '\n'), 0o644))
}
