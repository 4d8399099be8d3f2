package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// plotOptions are the flags of commands that draw one picture.
type plotOptions struct {
	flag  string // that names the files
	files []string
	theme string
}

func (o *plotOptions) addFlags(cmd *cobra.Command, does string) {
	o.flag = "plot"
	cmd.Flags().StringArrayVar(&o.files, o.flag, nil, does+" to `FILE` (.svg, .png, .pdf or .csv; repeatable)")
	addTheme(cmd, &o.theme)
}

// addTheme adds the flag for the colours of PNG files.
func addTheme(cmd *cobra.Command, theme *string) {
	cmd.Flags().StringVar(theme, "theme", "light", "color `THEME` of PNG plots: light or dark; SVGs follow the viewer")
}

// validate refuses files that cannot be written, and names that no picture has.
func (o *plotOptions) validate() error {
	if _, err := figure.ThemeOf(o.theme); err != nil {
		return fmt.Errorf("--theme %w", err)
	}
	for _, path := range o.files {
		if err := writable([]output{{"--" + o.flag, path}}); err != nil {
			return err
		}
		if _, err := figure.FormOf(path); err != nil {
			return fmt.Errorf("--%s: %w", o.flag, err)
		}
	}
	return nil
}

// write writes the files that were asked for; the figure is made only for these.
func (o *plotOptions) write(of func() (*figure.Figure, error)) error {
	if len(o.files) == 0 {
		return nil
	}
	theme, err := figure.ThemeOf(o.theme)
	if err != nil {
		return err
	}
	f, err := of()
	if err != nil {
		return fmt.Errorf("--%s: %w", o.flag, err)
	}
	var errs []error
	for _, path := range o.files {
		form, err := figure.FormOf(path)
		if err == nil {
			err = wholefile.Stream(path, 0o644, func(w io.Writer) error { return f.Write(w, form, theme) })
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", o.flag, err))
		}
	}
	return errors.Join(errs...)
}
