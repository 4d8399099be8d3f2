package fl

import (
	"math"
	"testing"

	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/kernels"
)

// TestPrivateSteps compares steps of DP-SGD with those of SGD where nothing is clipped and all
// samples are drawn, and the clipping and the noise with their definitions.
func TestPrivateSteps(t *testing.T) {
	t.Parallel()
	fed := fltest.OpenGlyphs(t, 4, 60)
	params, _ := average().Defaults()
	params.LR, params.Batch, params.Steps, params.Momentum, params.Dropout = 0.1, 64, 3, 0.5, 0
	change := func(p *Privacy, params ClientParams) []float32 {
		var got []float32
		m := average()
		m.NewServer = func(int) Server { return &recordingServer{got: &got} }
		e := newEngine(t, Config{
			Model: fltest.SmallTransformer(t, fed), Data: fed, Method: m, Cohort: 1,
			Seed: 3, Privacy: p, Momentum: true,
		})
		r := runRounds(t, e.NewTrial(1), Plan{Clients: []ClientParams{params}}, 1)[0]
		if s := r.Slots[0]; s.Steps != params.Steps || p != nil && params.Batch >= s.TrainExamples &&
			s.Examples != s.Steps*s.TrainExamples {
			t.Fatalf("%d steps took %d of %d samples", s.Steps, s.Examples, s.TrainExamples)
		}
		var at []float32
		for _, i := range e.places() {
			at = append(at, got[i])
		}
		return at
	}
	plain, private := change(nil, params), change(&Privacy{Mechanism: SampleNoise, Clip: 1e6}, params)
	kernels.Sub(private, private, plain)
	if off, norm := kernels.Norm(private), kernels.Norm(plain); !(off < 1e-4*norm) {
		t.Errorf("steps without clipping and noise differ by %v of %v", off, norm)
	}
	const clip, noise = 1e-3, 50
	params.Momentum = 0
	if norm := kernels.Norm(change(&Privacy{Mechanism: SampleNoise, Clip: clip},
		params)); norm > 3*0.1*clip || norm < 0.1*0.1*clip {
		t.Errorf("three steps of clipped gradients move by %v, want at most %v", norm, 3*0.1*clip)
	}
	params.Batch = 8
	var draws []float64
	for _, x := range change(&Privacy{Mechanism: SampleNoise, Clip: clip, Noise: noise}, params) {
		draws = append(draws, float64(x))
	}
	if d := distance(draws, 0.1*noise*clip/8*math.Sqrt(3)); d > 1 {
		t.Errorf("three steps have other noise than that of a batch of 8: %v times the distance", d)
	}
}
