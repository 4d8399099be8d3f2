package models

import (
	"runtime"
	"testing"

	"github.com/fedfast/fedfast/nn"
)

// TestWorkspaceBytes compares what a workspace is expected to take with what it
// takes before it has seen a batch, by which that of batch normalization grows.
func TestWorkspaceBytes(t *testing.T) {
	var used runtime.MemStats
	heap := func() int64 {
		runtime.GC()
		runtime.ReadMemStats(&used)
		return int64(used.HeapAlloc)
	}
	for _, name := range Names() {
		m, err := New(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		before := heap()
		ws := m.NewWorkspace()
		took := heap() - before
		runtime.KeepAlive(ws)
		if want := m.WorkspaceBytes(1, false); want < took-8<<20 || want > took+took/2+4*int64(m.Size())+8<<20 {
			t.Errorf("%s: a workspace takes %d bytes, %d were expected", name, took, want)
		}
	}
	large, err := FromLayers([]LayerSpec{{Type: "conv", Filters: 100_000, Kernel: 1}, {Type: "dense"}},
		nn.Shape{H: 28, W: 28, C: 1}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got := large.WorkspaceBytes(0, false); got < 64*28*28*100_000*4/8 {
		t.Errorf("100,000 filters of 784 pixels, 8 samples or more: %d bytes", got)
	}
}

// TestLongSequencesTakeFewSamples compares networks with attention on short and on long
// sequences: a workspace has about as many steps of both at a time.
func TestLongSequencesTakeFewSamples(t *testing.T) {
	bytes := func(steps int) int64 {
		m, err := FromLayers([]LayerSpec{
			{Type: "embedding", Size: 64},
			{Type: "attention", Heads: 2},
			{Type: "dense", Units: 256},
			{Type: "gelu"},
			{Type: "dense", Units: 64},
			{Type: "steps"},
			{Type: "dense"},
		}, nn.Shape{Seq: steps, Vocab: 50}, 50)
		if err != nil {
			t.Fatal(err)
		}
		return m.WorkspaceBytes(16, false)
	}
	if short, long := bytes(80), bytes(640); long > 2*short {
		t.Errorf("a workspace takes %d bytes for sequences of 640 steps, %d for those of 80", long, short)
	}
}
