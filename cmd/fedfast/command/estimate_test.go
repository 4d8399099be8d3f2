package command

import (
	"testing"

	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/kernels"
)

func TestEstimateLine(t *testing.T) {
	faster := map[bool]string{true: "bf16-amx", false: "fp32"}[kernels.Current() == kernels.AMX]
	for want, c := range map[string]workdir.Cost{
		"estimate: 264 trials on proxy federations and 500 rounds: about 41 minutes on 2 workers (2,210 samples/s per worker), 1.25 GB of memory, and 101 MB of memory or disk per waiting trial\n": {
			Plan: "264 trials on proxy federations and 500 rounds", Seconds: 2460, SamplesPerSecond: 2210.4, Workers: 2,
			Memory: 1.25e9, Waiting: 101e6,
		},
		"estimate: 1 round: about 12 seconds on 1 worker (9 samples/s per worker), 90 MB of memory\n": {
			Plan: "1 round", Seconds: 12, SamplesPerSecond: 9, Workers: 1, Memory: 90e6, Waiting: 1e6, BF16Share: 1.9,
		},
		"estimate: 1 round: about 12 seconds on 1 worker (9 samples/s per worker), 90 MB of memory\nbf16: this CPU multiplies bf16 no faster than fp32; precision = \"" + faster + "\" is likely faster\n": {
			Plan: "1 round", Seconds: 12, SamplesPerSecond: 9, Workers: 1, Memory: 90e6, BF16Share: 1.049,
		},
	} {
		if got := estimateLine(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSecondsInWords(t *testing.T) {
	for seconds, want := range map[float64]string{
		0.2: "about a second", 1.6: "about 2 seconds",
		42.4: "about 42 seconds", 89: "about 89 seconds", 95: "about 2 minutes", 2460: "about 41 minutes",
		5399: "about 90 minutes", 5400: "about 1.5 hours", 41400: "about 11.5 hours", 172800: "about 2.0 days",
		1e6: "about 11.6 days",
	} {
		if got := inWords(seconds); got != want {
			t.Errorf("%v s: %q, want %q", seconds, got, want)
		}
	}
}
