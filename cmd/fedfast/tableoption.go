package main

import (
	"fmt"
	"io"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/plugins/fedtune"
	"github.com/fedfast/fedfast/tuners"
)

// fedtuneName is the tuner whose table can be handed to another study.
const fedtuneName = "fedtune-hrt"

// fedtuneOptions returns the options of fedtune-hrt in a configuration and the
// role in which they stand, "tuner" or "client_tuner"; the role is empty when the
// study has another client tuner.
func fedtuneOptions(c *study.Config) (role string, options map[string]any) {
	switch {
	case c.ClientTuner.Name == fedtuneName:
		return "client_tuner", c.ClientTuner.Options
	case c.ClientTuner.Name == "" && c.Tuner.Name == fedtuneName:
		return "tuner", c.Tuner.Options
	}
	return "", nil
}

// tableOption returns the table that the trials on side federations of a study
// of fedtune-hrt give, as the value of the option `table`; see fedtune.TableOf.
func tableOption(options map[string]any, seed uint64, sides []study.SideTrial) (string, error) {
	given := tuners.Params{}
	for key, x := range options {
		v, err := tuners.ValueOf(x)
		if err != nil {
			return "", fmt.Errorf("options.%s: %w", key, err)
		}
		given[key] = v
	}
	var tried []fedtune.Tried
	for _, t := range sides {
		tried = append(tried, fedtune.Tried{Environment: t.Environment, Params: t.Params, Score: t.Score})
	}
	return fedtune.TableOf(given, seed, tried)
}

// printTableOption prints the flag that hands the table of a study of fedtune-hrt
// to another one.
func printTableOption(w io.Writer, c *study.Config, sides []study.SideTrial) error {
	role, options := fedtuneOptions(c)
	if role == "" || len(sides) == 0 {
		return nil
	}
	text, err := tableOption(options, c.Seed, sides)
	if err != nil || text == "" {
		return err
	}
	_, err = fmt.Fprintf(w, "this table for another study: --set '%s.options.table=\"%s\"'\n\n", role, text)
	return err
}
