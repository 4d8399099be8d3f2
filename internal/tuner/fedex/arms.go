package fedex

import (
	"fmt"

	"github.com/fedfast/fedfast/tuners"
)

// Arms returns the configurations among which FedEx chooses in a trial, for
// reports: they depend on the space, the trial's params, the options, the study's
// seed and the trial's number alone. A trial that was forked has those of the trial
// that it came from. The error is that of an option.
func Arms(space tuners.Space, params, given tuners.Params, seed uint64, trial int) ([]tuners.Params, error) {
	o, problems := readOptions(given)
	if len(problems) > 0 {
		return nil, fmt.Errorf("fedex: %s: %s", problems[0].Key, problems[0].Message)
	}
	return drawConfigs(space.Matching(description.Controls...), params, o, seed, trial), nil
}
