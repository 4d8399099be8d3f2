package command

import (
	"cmp"
	"context"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// picksPerClient says whether a built-in client tuner of the study picks the sub-networks
// of clients, so that no client trains the one that a trial drew. A tuner that forks
// gives those that it picks to its trials.
func picksPerClient(c *config.Config) bool {
	name := cmp.Or(c.ClientTuner.Name, c.Tuner.Name)
	t, ok := plugins.Builtin()[name]
	if !ok {
		return false
	}
	about, err := t.Describe(context.Background())
	return err == nil && about.Rounds && !about.Fork && tuners.Matches(tuners.ArchPrefix+"x", about.Controls...)
}
