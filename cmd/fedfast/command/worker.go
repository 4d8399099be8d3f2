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
		Short: "Train for a study coordinated by another process",
		Args:  cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if o.Join == "" {
				return errors.New("--join is required: the file cluster/join in the study's directory, written by `fedfast tune --cluster`")
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
	f.StringVar(&o.Join, "join", "", "join `FILE` of the study")
	f.StringVar(&o.Credentials, "creds", "", "NATS credentials `FILE`, for a study that uses an external NATS server")
	f.StringVar(&o.Data, "data", "", "read the data from `PATH` on this machine (default: the study's data.path)")
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
