package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/study/workdir"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the CPU features in use",
		Args:  cobra.NoArgs,
		RunE: a.work(func(*cobra.Command, []string) error {
			v := workdir.ThisVersion()
			if a.json {
				return a.printJSON(v)
			}
			_, err := fmt.Fprintln(a.out, v)
			return err
		}),
	}
}
