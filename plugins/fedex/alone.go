package fedex

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fedfast/fedfast/tuners"
)

// alone is the study session of FedEx without a wrapper: one trial of budget.trial_rounds rounds.
type alone struct {
	tuners.TrialsOnly
	req   tuners.OpenRequest
	state aloneState
	bytes []byte
}

// aloneState is what the study session's calls change.
type aloneState struct {
	Started  bool `json:"started"`
	Reported bool `json:"reported"`
	Best     int  `json:"best"`
}

func newAlone(req tuners.OpenRequest) (*alone, error) {
	if req.Budget.TrialRounds < 1 {
		return nil, fmt.Errorf("fedex: budget.trial_rounds: a trial needs at least 1 round, not %d", req.Budget.TrialRounds)
	}
	s := &alone{req: req, state: aloneState{Best: -1}}
	if req.State != nil {
		if err := json.Unmarshal(req.State, &s.state); err != nil {
			return nil, fmt.Errorf("fedex: the recorded state is damaged: %w", err)
		}
	}
	return s, s.save()
}

// Suggest starts trial 0, then waits for it.
func (s *alone) Suggest(context.Context, int) ([]tuners.Decision, error) {
	switch {
	case !s.state.Started:
		s.state.Started = true
		return []tuners.Decision{{
			Kind: tuners.Start, ToRound: s.req.Budget.TrialRounds, Independent: true,
			Params: s.req.Space.Sample(tuners.NewDraws(s.req.Seed, 0, 0, "trial params")),
		}}, s.save()
	case !s.state.Reported:
		return []tuners.Decision{{Kind: tuners.Wait}}, nil
	}
	return []tuners.Decision{{Kind: tuners.Done, Best: s.state.Best}}, nil
}

// Report ends the study.
func (s *alone) Report(_ context.Context, r tuners.TrialReport) error {
	if r.Trial != 0 || !s.state.Started || s.state.Reported {
		return fmt.Errorf("fedex: a report about trial %d, which is not running", r.Trial)
	}
	s.state.Reported = true
	if !r.Failed {
		s.state.Best = 0
	}
	return s.save()
}

// State returns the state after the last call.
func (s *alone) State() []byte { return s.bytes }

func (s *alone) save() (err error) {
	s.bytes, err = json.Marshal(s.state)
	return err
}
