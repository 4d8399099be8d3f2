package fedex

import (
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// Arms returns the configurations among which FedEx chooses in a trial, for
// reports: they depend on the space, the trial's params, the options, the study's
// seed and the trial's number alone. A trial that was forked has those of the trial
// that it came from. The error comes from an option.
func Arms(space tuners.Space, params, given tuners.Params, seed uint64, trial int) ([]tuners.Params, error) {
	r := options.Read(Tuner.About, given)
	s := readSettings(r, tuners.ValidateRequest{Space: space})
	if err := options.First("fedex", r.Problems); err != nil {
		return nil, err
	}
	return drawConfigs(space.Matching(controls), params, s, seed, trial), nil
}
