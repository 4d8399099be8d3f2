package command

import (
	"fmt"
	"io"

	"github.com/fedfast/fedfast/bench/repro"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// fedtuneName is the tuner whose table can be handed to another study.
const fedtuneName = "fedtune-hrt"

// fedtuneOptions returns the options of fedtune-hrt in a configuration and the
// role in which they stand, "tuner" or "client_tuner"; the role is empty when the
// study has another client tuner.
func fedtuneOptions(c *config.Config) (role string, options map[string]any) {
	switch {
	case c.ClientTuner.Name == fedtuneName:
		return "client_tuner", c.ClientTuner.Options
	case c.ClientTuner.Name == "" && c.Tuner.Name == fedtuneName:
		return "tuner", c.Tuner.Options
	}
	return "", nil
}

// printTableOption prints the flag that hands the table of a study of fedtune-hrt
// to another one.
func printTableOption(w io.Writer, c *config.Config, sides []result.ProxyTrial) error {
	role, options := fedtuneOptions(c)
	if role == "" || len(sides) == 0 {
		return nil
	}
	text, err := repro.TableOption(options, c.Seed, c.Aim(), sides)
	if err != nil || text == "" {
		return err
	}
	_, err = fmt.Fprintf(w, "to reuse this table in another study: --set '%s.options.table=\"%s\"'\n\n", role, text)
	return err
}
