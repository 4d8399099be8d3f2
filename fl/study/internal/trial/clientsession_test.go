package trial

import (
	"encoding/json"
	"testing"

	"github.com/fedfast/fedfast/tuners"
)

// TestNotesDecideNothing compares plans that were recorded with those that a tuner
// makes when it is asked again.
func TestNotesDecideNothing(t *testing.T) {
	plan := func(lr, note float64) tuners.Plan {
		return tuners.Plan{Clients: []tuners.Params{{"client.lr": tuners.Num(lr)}}, Notes: map[string][]float64{"n": {note}}}
	}
	data, err := json.Marshal(plan(0.1, 1))
	if err != nil {
		t.Fatal(err)
	}
	if !samePlan(data, plan(0.1, 2)) || samePlan(data, plan(0.2, 1)) || samePlan(nil, plan(0.1, 1)) {
		t.Error("plans are the same where their params are, whatever their notes")
	}
}
