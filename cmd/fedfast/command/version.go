package command

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/fl/study/workdir"
)

// noticesGz is what `.ci/notices --embed` writes, packed: the licenses of all that the program contains.
//
//go:embed notices.gz
var noticesGz []byte

func newVersion(a *app) *cobra.Command {
	var licenses bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version and the CPU features in use",
		Args:  cobra.NoArgs,
		RunE: a.work(func(*cobra.Command, []string) error {
			if licenses {
				text, err := gzip.NewReader(bytes.NewReader(noticesGz))
				if err != nil {
					return err
				}
				_, err = io.Copy(a.out, text)
				return err
			}
			v := workdir.ThisVersion()
			if a.json {
				return a.printJSON(v)
			}
			_, err := fmt.Fprintln(a.out, v)
			return err
		}),
	}
	c.Flags().BoolVar(&licenses, "licenses", false, "print the licenses of all that the program contains, as text")
	return c
}
