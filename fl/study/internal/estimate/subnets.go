package estimate

import (
	"context"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
)

// drawnSubnets is how many sub-networks tell how many operations one takes in the mean.
const drawnSubnets = 16

// share returns how much of the whole network's work a client's training takes in the
// mean. It is 1 unless a tuner picks sub-networks for the clients; then every option of
// the model's choices is as likely.
func share(ctx context.Context, s *study.Setup) (float64, error) {
	method, err := fl.MethodByName(s.Config.Method)
	if err != nil {
		return 0, err
	}
	choices := s.Model.Choices()
	if method.Subnet == nil || len(choices) == 0 {
		return 1, nil
	}
	if picks, err := s.Picks(ctx); err != nil || !picks {
		return 1, err
	}
	_, whole := s.Model.FLOPs()
	sum := 0.0
	for i := range drawnSubnets {
		pick := nn.Pick{}
		for k, c := range choices {
			at := det.Unit(det.Mix(uint64(i*len(choices)+k))) * float64(len(c.Options))
			pick[c.Name] = c.Options[min(int(at), len(c.Options)-1)]
		}
		sub, err := s.Model.Sub(pick)
		if err != nil {
			return 0, err
		}
		_, train := sub.FLOPs()
		sum += float64(train) / drawnSubnets
	}
	return sum / float64(whole), nil
}
