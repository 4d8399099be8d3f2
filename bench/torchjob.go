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
	"time"

	"github.com/fedfast/fedfast/fl/study/estimate"
)

// torchJob is work for PyTorch: a step or an evaluation of a network, or a round.
type torchJob struct {
	op        string // "step", "forward" or "round"
	net       network
	batch     int
	optimizer string // of a step

	clients, samples int // of a round
	processes        int
}

// rival is a prepared job with what was measured of it.
type rival struct {
	server  *torchServer
	threads int
	job     *torchJob
	times   []float64
}

// settle is how long PyTorch's idle threads are given to stop spinning.
const settle = 20 * time.Millisecond

// prepare builds the job in a server with so many threads. For a step or an
// evaluation it checks that PyTorch and fedfast compute the same loss from the same
// weights and the same batch.
func (t *Torch) prepare(ctx context.Context, j *torchJob, threads int) (*rival, error) {
	name := fmt.Sprintf("%d threads", threads)
	switch {
	case j.processes > 1:
		name = "processes"
	case threads == 1:
		name = "1 thread"
	}
	s, err := t.server(ctx, name, threads)
	if err != nil {
		return nil, err
	}
	in := j.net.Input()
	job := map[string]any{
		"op": j.op, "name": j.net.name, "layers": j.net.layers, "vocab": in.Vocab, "steps": in.Seq,
		"classes": j.net.Classes(), "labels": j.net.LabelsPerExample(), "batch": j.batch, "optimizer": j.optimizer,
		"clients": j.clients, "samples": j.samples, "processes": j.processes,
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
		if want, err = t.write(j, job); err != nil {
			return nil, err
		}
	}
	reply, err := s.call(job)
	if err != nil {
		return nil, err
	}
	if j.op != "round" && math.Abs(reply.Loss-want) > 1e-3*(1+math.Abs(want)) {
		return nil, fmt.Errorf("PyTorch's network has a loss of %.6g where fedfast's has %.6g: they are not the same", reply.Loss, want)
	}
	return &rival{server: s, threads: threads, job: j}, nil
}

// write writes the weights and the batch of a step to files, adds their names to
// the job, and returns fedfast's loss on them.
func (t *Torch) write(j *torchJob, job map[string]any) (float64, error) {
	w, b := estimate.Start(j.net.Model), estimate.RandomBatch(j.net.Model, j.batch)
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
	r := j.net.NewWorkspace().Evaluate(w, b)
	return r.Loss / float64(r.Count), errors.Join(errs...)
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

// take lets PyTorch run for a while, at least so many samples.
func (r *rival) take(ctx context.Context, length time.Duration, least int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	reply, err := r.server.call(map[string]any{"op": "time", "seconds": length.Seconds(), "least": least})
	if err != nil {
		return err
	}
	r.times = append(r.times, reply.Times...)
	time.Sleep(settle)
	return nil
}

// against folds what was measured, samples being those of one repetition.
func (r *rival) against(samples int) Rival {
	s := median(r.times)
	return Rival{
		Threads: r.threads, Processes: max(1, r.job.processes), Seconds: s, SamplesPerSecond: float64(samples) / s, Spread: spread(r.times),
	}
}
