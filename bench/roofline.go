package bench

import (
	"github.com/klauspost/cpuid/v2"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// Bandwidth is how fast memory of a size, in bytes, is read.
type Bandwidth struct {
	Bytes          int     `json:"bytes"`
	BytesPerSecond float64 `json:"bytes_per_second"`
}

// farBytes is beyond the caches of a core's share of any processor that is measured.
const farBytes = 64 << 20

// bandwidths measures how fast a half of each cache is read, and what lies beyond.
func (m *meter) bandwidths() []Bandwidth {
	if m.bands != nil {
		return m.bands
	}
	c := cpuid.CPU.Cache
	for _, bytes := range []int{max(c.L1D, 32<<10) / 2, max(c.L2, 256<<10) / 2, min(max(c.L3, 2<<20), farBytes) / 2, farBytes} {
		x := ramp(bytes / 4)
		read := func() { kernels.ReadProbe(x) }
		read()
		reps := m.calibrate(read)
		var rates []float64
		for range m.samples {
			rates = append(rates, float64(bytes)*float64(reps)/m.time(reps, read))
		}
		m.bands = append(m.bands, Bandwidth{bytes, median(rates)})
	}
	return m.bands
}

// roofline is the least time that a machine can need.
type roofline struct {
	peak  float64 // multiplications and additions a second
	bands []Bandwidth
}

// reads returns the seconds of moving a number of bytes that lie among others.
func (r roofline) reads(bytes, among int64) float64 {
	for _, b := range r.bands {
		if among <= int64(b.Bytes) || b == r.bands[len(r.bands)-1] {
			return float64(bytes) / b.BytesPerSecond
		}
	}
	return 0
}

// states are the floats of each trained value in an optimizer: the value, its gradient and,
// with momentum, its velocity. A training step reads the value in both passes and writes the
// gradient; then it reads all of them, and writes all but the gradient.
var states = map[string]int64{plainSGD: 2, momentumSGD: 3}

// layer returns the times of a layer's arithmetic at the peak, and of moving its values once a
// pass, for a batch of n samples: its input and output lie where those of one sample fit, its
// trained values where those of the whole network do, params of them. An optimizer makes it a
// training step, see states, whose backward pass reads the output's gradient and the input,
// and writes the input's gradient. Evaluation in bf16 reads weights that are rounded. bytes is
// what moves.
func (r roofline) layer(w *nn.Work, n int, p nn.Precision, params int64, optimizer string) (compute, memory float64, bytes int64) {
	samples, values, among := int64(n), w.In+w.Out, int64(1)
	flops, weights := w.FLOPs, w.Params
	if optimizer != "" {
		among = states[optimizer]
		flops, weights = w.TrainFLOPs, (3+among+among-1)*w.Params
		values += w.In + w.Out
		if w.InputGradient {
			values += w.In
		}
	}
	const float = 4
	weight := int64(float)
	if p != nn.FP32 && optimizer == "" {
		weight /= 2
	}
	near, far := float*samples*values, weight*weights
	return float64(samples*flops) / r.peak, r.reads(near, float*(w.In+w.Out)) + r.reads(far, weight*among*params), near + far
}

// network returns the sum over all layers of the longer of the two times, and whether memory
// takes more of it.
func (r roofline) network(work []nn.Work, n int, p nn.Precision, optimizer string) (seconds float64, memory bool) {
	params, waits := trained(work), 0.0
	for i := range work {
		compute, moving, _ := r.layer(&work[i], n, p, params, optimizer)
		if moving > compute {
			waits += moving
		}
		seconds += max(compute, moving)
	}
	return seconds, waits > seconds/2
}

// trained is the number of a network's trained values.
func trained(work []nn.Work) (sum int64) {
	for i := range work {
		sum += work[i].Params
	}
	return sum
}
