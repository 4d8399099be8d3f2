package command

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/agent"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

func newMCP(a *app) *cobra.Command {
	var dir string
	var budget time.Duration
	var jobs int
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve studies to an agent by the Model Context Protocol",
		Args:  cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			switch {
			case budget <= 0:
				return errors.New("--budget: must be a duration > 0, such as 30m")
			case jobs < 1:
				return fmt.Errorf("--jobs %d: must be a positive integer", jobs)
			}
			return nil
		},
		RunE: a.work(func(cmd *cobra.Command, _ []string) error {
			program, err := os.Executable()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // studies are not secret
				return err
			}
			args := []string{fmt.Sprintf("--workers=%d", a.workers)}
			if a.cpu != "" {
				args = append(args, "--cpu="+a.cpu)
			}
			return agent.Serve(cmd.Context(), agent.Config{
				Program: program, Args: args, Dir: dir, Budget: budget, Jobs: jobs, Version: workdir.ThisVersion().String(),
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "studies", "keep all studies below `DIR`")
	f.DurationVar(&budget, "budget", time.Hour, "maximum `TIME` of all trainings together")
	f.IntVar(&jobs, "jobs", 1, "maximum number of trainings at the same time")
	return cmd
}
