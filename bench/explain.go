package bench

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/probe"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/nn"
)

// Explanation says where a network's training step takes its time, layer by layer.
type Explanation struct {
	Machine    Machine     `json:"machine"`
	Model      string      `json:"model"`
	Batch      int         `json:"batch"`
	Precision  string      `json:"precision"`
	PeakGFLOPS float64     `json:"peak_gflops"` // of one thread, measured beside the step
	Bandwidths []Bandwidth `json:"bandwidths"`
	Layers     []Explained `json:"layers"`
	// Rest is what no layer took: the loss, and updates of weights that layers leave.
	Rest             float64 `json:"rest_seconds"`
	Seconds          float64 `json:"seconds"` // of the whole step, median
	Roofline         float64 `json:"roofline_seconds"`
	RooflineFraction float64 `json:"roofline_fraction"`
}

// Explained is one layer's part of a step.
type Explained struct {
	Layer            string  `json:"layer"`
	GFLOP            float64 `json:"gflop"`
	Bytes            int64   `json:"bytes"` // that it moves at least
	Forward          float64 `json:"forward_seconds"`
	Backward         float64 `json:"backward_seconds"` // with the update where the layer makes it
	Bound            string  `json:"bound"`            // "peak" or "memory"
	Roofline         float64 `json:"roofline_seconds"`
	RooflineFraction float64 `json:"roofline_fraction"`
}

// Explain measures training steps with momentum of the one network of cfg on one thread, in
// the first of its precisions. A layer may take less than its limit where it does less
// arithmetic than is counted, as convolutions by Winograd's method do.
func Explain(ctx context.Context, cfg Config) (*Explanation, error) {
	nets, err := networks(ctx, cfg)
	switch {
	case err != nil:
		return nil, err
	case len(nets) != 1:
		return nil, fmt.Errorf("name one model, not %d", len(nets))
	}
	net, n, precision := nets[0], cfg.Batch, cfg.precisions()[0]
	n = cmp.Or(n, 16)
	m := newMeter(cfg)
	defer m.close()
	model := net.WithPrecision(precision)
	ws, w, b := model.NewWorkspace(), probe.Start(model), probe.RandomBatch(model, n)
	opt := optimizer(momentumSGD)
	opt.Velocity = model.NewParams()
	step := func() { ws.Step(w, b, nn.TrainOpts{Dropout: -1}, &opt) }
	step()
	reps := m.calibrate(step)
	var seconds, peaks []float64
	for range m.samples {
		peaks = append(peaks, m.samplePeak(precision))
		seconds = append(seconds, m.time(reps, step)/float64(reps))
	}
	ws.Measure(m.clock.now)
	m.time(reps*m.samples, step)
	r := roofline{median(peaks) * 1e9, m.bandwidths()}
	return explain(net.name, n, precision, r, ws.Work(), reps*m.samples, median(seconds)), ctx.Err()
}

// explain puts together what was measured: the work of steps training steps, each of which takes
// seconds when its layers are not measured.
func explain(name string, n int, p nn.Precision, r roofline, work []nn.Work, steps int, seconds float64) *Explanation {
	e := &Explanation{
		Machine: machine(), Model: name, Batch: n, Precision: p.String(), PeakGFLOPS: r.peak / 1e9, Bandwidths: r.bands, Rest: seconds, Seconds: seconds,
	}
	params := trained(work)
	for i := range work {
		x := &work[i]
		compute, moving, bytes := r.layer(x, n, p, params, momentumSGD)
		l := Explained{
			Layer: x.Layer, GFLOP: float64(int64(n)*x.TrainFLOPs) / 1e9, Bytes: bytes,
			Forward: x.Forward.Seconds() / float64(steps), Backward: x.Backward.Seconds() / float64(steps), Bound: "peak", Roofline: max(compute, moving),
		}
		if moving > compute {
			l.Bound = "memory"
		}
		if took := l.Forward + l.Backward; took > 0 {
			l.RooflineFraction = l.Roofline / took
		}
		e.Rest -= l.Forward + l.Backward
		e.Roofline += l.Roofline
		e.Layers = append(e.Layers, l)
	}
	e.Rest = max(0, e.Rest)
	e.RooflineFraction = e.Roofline / e.Seconds
	return e
}

// Heading says in lines what was measured, and on which machine.
func (e *Explanation) Heading() []string {
	rates := list.Of(e.Bandwidths, func(b Bandwidth) string {
		return fmt.Sprintf("%s at %.0f GB/s", memory.Size(int64(b.Bytes)), b.BytesPerSecond/1e9)
	})
	line := "read from " + strings.Join(rates, ", ")
	return []string{
		fmt.Sprintf("%s, batches of %d, %s: a training step takes %s, of which the machine's limit is %s (%s)",
			e.Model, e.Batch, e.Precision, duration(e.Seconds), duration(e.Roofline), percent(e.RooflineFraction)),
		fmt.Sprintf("%s, level %s; peak of one thread %.1f GFLOP/s; %s", e.Machine.CPU, kernels.Current(), e.PeakGFLOPS, line),
	}
}

// Table returns the layers for people: a head and a row for each.
func (e *Explanation) Table() [][]string {
	rows := [][]string{{"layer", "MFLOP", "moves", "forward", "backward", "of step", "limit", "of limit", "limited by"}}
	for _, l := range e.Layers {
		rows = append(rows, []string{
			l.Layer, strconv.FormatFloat(1e3*l.GFLOP, 'f', 2, 64), memory.Size(l.Bytes), duration(l.Forward), duration(l.Backward),
			percent((l.Forward + l.Backward) / e.Seconds), duration(l.Roofline), percent(l.RooflineFraction), l.Bound,
		})
	}
	return append(rows, []string{"loss, update", "", "", "", duration(e.Rest), percent(e.Rest / e.Seconds), "", "", ""})
}
