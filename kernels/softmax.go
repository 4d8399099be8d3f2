package kernels

import "github.com/fedfast/fedfast/kernels/det"

// softmaxTable holds the row function of one level: src has at least one element.
// It returns the largest element (NaN is passed over, -Inf if there is nothing
// else) and the sum of e^(src[j]-max). dst is empty, or has Pad(len(src)) elements
// and gets scale*e^(src[j]-max)/sum, with zeros after; it may be src's memory.
type softmaxTable struct {
	row func(dst, src []float32, scale float32) (largest, sum float32)
}

var softmaxes softmaxTable

const (
	msgSoftmaxShape = "kernels: SoftmaxXent with a negative size, a row distance below Pad(n) or a slice that is too short"
	msgSoftmaxLabel = "kernels: SoftmaxXent with a label that is not below n"
)

// SoftmaxXent computes the cross-entropy of m rows of n logits, ld >= Pad(n) floats
// apart, against labels[i] < n:
//
//	loss of row i = log(sum over j of e^logits[i][j]) - logits[i][labels[i]]
//	grad[i][j]    = scale * (softmax(logits[i])[j] - (j == labels[i]))
//
// grad has the same row distance, may be logits itself, and gets zeros in the
// columns n to Pad(n); nil means that only the results are wanted. A negative label
// masks its row: no loss, zero gradient. It returns the losses' sum, added in
// float64 in the order of the rows, and how many rows have their label as the arg
// max: the lowest index of the largest logit; NaN never wins.
//
// Probabilities below e^-60 times the largest become 0. A row with NaN, +Inf or
// nothing but -Inf has loss and gradient NaN.
func SoftmaxXent(grad, logits []float32, ld, m, n int, labels []int32, scale float32) (loss float64, correct int) {
	if m < 0 || n < 0 || ld < Pad(n) || len(labels) < m {
		panic(msgSoftmaxShape)
	}
	if m == 0 || n == 0 {
		return 0, 0
	}
	if len(logits) < (m-1)*ld+n || grad != nil && len(grad) < (m-1)*ld+Pad(n) {
		panic(msgSoftmaxShape)
	}
	for i := range m {
		src := logits[i*ld:][:n]
		var dst []float32
		if grad != nil {
			dst = grad[i*ld:][:Pad(n)]
			raceWrite(dst)
		}
		label := int(labels[i])
		if label < 0 {
			clear(dst)
			continue
		}
		if label >= n {
			panic(msgSoftmaxLabel)
		}
		raceRead(src)
		x := src[label]
		first := firstLargest(src, label)
		largest, sum := callSoftmax(dst, src, scale)
		loss += det.Log(float64(sum)) + (float64(largest) - float64(x))
		if first && x == largest {
			correct++
		}
		if dst != nil {
			dst[label] -= scale
			if sum != sum { // 0 times NaN is NaN on some levels
				clear(dst[n:])
			}
		}
	}
	return loss, correct
}

// firstLargest reports whether every element of row before i is below row[i] or
// NaN.
func firstLargest(row []float32, i int) bool {
	x := row[i]
	for _, v := range row[:i] {
		if v >= x {
			return false
		}
	}
	return true
}

//go:noinline
func callSoftmax(dst, src []float32, scale float32) (largest, sum float32) {
	return softmaxes.row(dst, src, scale)
}
