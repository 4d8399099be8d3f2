package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/study/cluster"
	"github.com/fedfast/fedfast/fl/study/workdir"
)

func newWorker(a *app) *cobra.Command {
	var o cluster.WorkerOptions
	cmd := &cobra.Command{
		Use:   "worker --join FILE",
		Short: "Train for a study that another process coordinates",
		Long: "Train for the study of a `fedfast tune --cluster` or `fedfast run --cluster`, here or on another machine. FILE is cluster/join in the study's directory,\n" +
			"or a copy of it; the worker waits for it, and ends with the study. An interrupt, or SIGTERM, has it hand over its trial and leave.",
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if o.Join == "" {
				return errors.New("--join: name the join file, which `fedfast tune --cluster` writes as cluster/join into its study's directory")
			}
			return nil
		},
		RunE: a.work(func(cmd *cobra.Command, _ []string) error {
			o.Version, o.Workers, o.Notice = buildVersion(), a.workers, a.notice
			o.Ended = func() bool { return hasEnded(o.Join) }
			return cluster.Work(cmd.Context(), o)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Join, "join", "", "the study's join `FILE`")
	f.StringVar(&o.Credentials, "creds", "", "credentials `FILE` for a NATS server of others, to which the join file leads")
	f.StringVar(&o.Data, "data", "", "where this machine has the study's data; default is the study's data.path")
	return cmd
}

// hasEnded says whether the study has its result in whose directory a join file is, or
// would be.
func hasEnded(join string) bool {
	folder := filepath.Dir(join)
	_, err := os.Stat(filepath.Join(filepath.Dir(folder), workdir.ResultFile))
	return err == nil && filepath.Base(folder) == cluster.Folder
}

// notice prints a line about the cluster.
func (a *app) notice(line string) { fmt.Fprintln(a.logs, "fedfast: "+line) }

// buildVersion tells builds of this program apart, as far as the linker knows.
func buildVersion() string {
	v := workdir.ThisVersion()
	text := v.Version
	if v.Revision != "" {
		text += " " + v.Revision
	}
	if v.Modified {
		text += " with changes"
	}
	return text
}
