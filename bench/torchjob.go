package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fedfast/fedfast/internal/probe"
	"github.com/fedfast/fedfast/nn"
)

// torchJob is work for PyTorch: a step or an evaluation of a network, or a round.
type torchJob struct {
	op        string // "step", "forward" or "round"
	net       network
	batch     int
	optimizer string // of a step

	clients, samples int // of a round
	processes        int

	loss float64 // fedfast's, for all rivals alike; 0 until one is prepared
}

// rival is a job of one PyTorch in one precision with what was measured of it.
type rival struct {
	torch     *Torch
	precision nn.Precision
	threads   int
	compiled  bool // by torch.compile
	job       *torchJob
	server    *torchServer
	loss      float64
	times     []float64
	failed    error // why it cannot run; it is reported and not asked again
}

// settle is how long PyTorch's idle threads are given to stop spinning.
const settle = 20 * time.Millisecond

// lossTolerance is how far the losses of a network may differ between fedfast and a
// PyTorch of a precision, as a share of one plus the loss.
var lossTolerance = map[nn.Precision]float64{nn.FP32: 1e-3, nn.BF16: 2e-2}

// enter prepares the job in every PyTorch and precision. What a PyTorch cannot run is
// among the rivals, as failed; an error is of fedfast's own.
func (m *meter) enter(ctx context.Context, j *torchJob, threads int) ([]*rival, error) {
	var rivals []*rival
	for _, t := range m.torch {
		for _, p := range m.precisions {
			if p == nn.BF16AMX { // PyTorch has one bf16
				if p = nn.BF16; slices.Contains(m.precisions, p) {
					continue
				}
			}
			for _, compiled := range []bool{false, true} {
				if compiled && (!m.compile || j.op == "round" || strings.HasPrefix(t.info.Version, "1.")) {
					continue
				}
				r := &rival{torch: t, precision: p, threads: threads, compiled: compiled, job: j}
				if err := r.prepare(ctx); err != nil {
					return nil, err
				}
				rivals = append(rivals, r)
			}
		}
	}
	return rivals, nil
}

// prepare builds the job in a server with the rival's number of threads. It checks that
// PyTorch and fedfast compute the same loss from the same weights and batch: of an
// evaluation at once, of a step after several.
func (r *rival) prepare(ctx context.Context) error {
	j, name := r.job, serverName(r.precision, r.threads)
	if j.processes > 1 {
		name = r.precision.String() + " processes"
	}
	if r.compiled {
		name += " compiled"
	}
	in := j.net.Input()
	job := map[string]any{
		"op": j.op, "name": j.net.name, "layers": j.net.layers, "vocab": in.Vocab, "steps": in.Seq, "precision": r.precision.String(),
		"classes": j.net.Classes(), "labels": j.net.LabelsPerExample(), "batch": j.batch, "optimizer": j.optimizer,
		"clients": j.clients, "samples": j.samples, "processes": j.processes, "before": lossSteps, "rate": lossRate,
		"compile": r.compiled,
	}
	switch {
	case in.Seq > 0:
		job["shape"] = []int{}
	case in.H*in.W > 1:
		job["shape"] = []int{in.C, in.H, in.W}
	default:
		job["shape"] = []int{in.C}
	}
	var want float64
	if j.op != "round" {
		var err error
		if want, err = r.torch.write(j, job); err != nil {
			return err
		}
	}
	var reply torchReply
	if r.server, r.failed = r.torch.server(ctx, name, r.threads); r.failed == nil {
		reply, r.failed = r.server.call(job)
	}
	r.loss = reply.Loss
	if r.failed == nil && j.op != "round" && !(math.Abs(reply.Loss-want) <= lossTolerance[r.precision]*(1+math.Abs(want))) {
		r.failed = fmt.Errorf("loss is %.6g, fedfast's is %.6g", reply.Loss, want)
	}
	return ctx.Err() // what a killed process said of it is of no interest
}

// write writes the weights and the batch of a step to files, adds their names to
// the job, and returns fedfast's loss.
func (t *Torch) write(j *torchJob, job map[string]any) (float64, error) {
	w, b := probe.Start(j.net.Model), probe.RandomBatch(j.net.Model, j.batch)
	var params []byte
	for _, p := range j.net.Export(w) {
		params = appendFloats(params, p.Data)
	}
	inputs := appendFloats(nil, b.X)
	if b.Tokens != nil {
		inputs = appendInts(nil, b.Tokens)
	}
	var errs []error
	for key, content := range map[string][]byte{"params": params, "inputs_file": inputs, "labels_file": appendInts(nil, b.Labels)} {
		path := filepath.Join(t.dir, key)
		job[key] = path
		errs = append(errs, os.WriteFile(path, content, 0o600))
	}
	if j.loss == 0 {
		j.loss = lossOf(j.net.Model, j.batch, j.optimizer)
	}
	return j.loss, errors.Join(errs...)
}

func appendFloats(b []byte, x []float32) []byte {
	b = slices.Grow(b, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func appendInts(b []byte, x []int32) []byte {
	b = slices.Grow(b, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// take measures PyTorch for at least the given time and number of samples.
func (r *rival) take(ctx context.Context, length time.Duration, least int) error {
	if err := ctx.Err(); err != nil || r.failed != nil {
		return err
	}
	var reply torchReply
	if reply, r.failed = r.server.call(map[string]any{"op": "time", "seconds": length.Seconds(), "least": least}); r.failed != nil {
		return ctx.Err()
	}
	r.times = append(r.times, reply.Times...)
	time.Sleep(settle)
	return nil
}

// against folds what was measured, samples being those of one repetition.
func (r *rival) against(samples int) Rival {
	v := Rival{
		Version: r.torch.info.Version, Precision: r.precision.String(), Threads: r.threads,
		Processes: max(1, r.job.processes), Compiled: r.compiled, Loss: r.loss,
	}
	if r.failed != nil {
		v.Error = r.failed.Error()
		return v
	}
	v.Seconds = median(r.times)
	v.SamplesPerSecond, v.Spread = float64(samples)/v.Seconds, spread(r.times)
	return v
}
