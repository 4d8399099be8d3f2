package estimate

import (
	"time"

	"github.com/fedfast/fedfast/kernels"
)

// BF16Share returns how many operations of products of bf16 this processor does in the
// time of one of float32, at the level in use: 2 on AMD's Zen 4, half of one on Intel's
// Xeons, whose fast unit for bf16 is another (AMX). Each is the best of a few samples of
// half a millisecond. It is 0 where they cannot be timed.
func (p *Probe) BF16Share() float64 {
	bf16, fp32 := p.best(kernels.PeakBF16), p.best(kernels.PeakProbe)
	if bf16 == 0 || fp32 == 0 {
		return 0
	}
	return bf16 / fp32
}

// best returns the most operations a second of a loop.
func (p *Probe) best(loop func(n int) int64) (most float64) {
	const samples, shortest, longest = 3, 500 * time.Microsecond, 1 << 22
	for n, taken := 1<<10, 0; taken < samples && n < longest; {
		var operations int64
		took := p.time(func() { operations = loop(n) })
		if took < shortest {
			n *= 2
			continue
		}
		most = max(most, float64(operations)/took.Seconds())
		taken++
	}
	return most
}
