package kernels

import "math"

// NormGroups are Groups groups of Size neighbouring channels, whose values are normalised
// together, of one image. Count is the values of a group. Sum and Inner have the sums over the image of
// each channel that [NormSums] or [NormSlopeSums] made; Mean and Scale a value of each
// group; the others, as those of [ImageNorm], one of each channel.
type NormGroups struct {
	Groups, Size         int
	Count, Epsilon       float64
	Sum, Inner           []float64
	Mean, Scale          []float64
	Weight, Bias         []float32
	Value, Shift, Grad   []float32
	WeightGrad, BiasGrad []float32
}

// groupTable holds the loops of one level over groups of 8 channels.
type groupTable struct {
	factors   func(sum, inner, mean, scale *float64, weight, bias, value, shift *float32, groups int, count, epsilon float64)
	gradients func(sum, inner, mean, scale *float64, weight, weightGrad, biasGrad, grad, value, shift *float32, groups int, count float64)
}

// groupSize is the channels of a group for which there are such loops.
const groupSize = 8

const msgGroups = "kernels: NormGroups with a size below 1 or a slice too short"

// check panics unless the slices are long enough, and reports whether there is a loop for the groups.
func (n *NormGroups) check(of ...[]float32) bool {
	if n.Groups < 1 || n.Size < 1 || min(len(n.Mean), len(n.Scale)) < n.Groups || min(len(n.Sum), len(n.Inner)) < n.Groups*n.Size {
		panic(msgGroups)
	}
	for _, x := range of {
		if len(x) < n.Groups*n.Size {
			panic(msgGroups)
		}
	}
	return n.Size == groupSize
}

// NormFactors computes Mean and Scale, 1/sqrt(variance + Epsilon), of each group from the
// sums of x and of its squares, each channel after the other, and the Value and Shift of
//
//	y = (x - mean)*scale*weight + bias
//
// in float64, every operation rounded, and then in float32.
func NormFactors(n *NormGroups) {
	if n.check(n.Weight, n.Bias, n.Value, n.Shift) && norms.groups.factors != nil {
		callNormFactors(n)
		return
	}
	for g := range n.Groups {
		lo, hi := g*n.Size, (g+1)*n.Size
		var sum, squares float64
		for c := lo; c < hi; c++ {
			sum += n.Sum[c]
			squares += n.Inner[c]
		}
		mean := sum / n.Count
		variance := max(squares/n.Count-float64(mean*mean), 0)
		scale := 1 / math.Sqrt(variance+n.Epsilon)
		n.Mean[g], n.Scale[g] = mean, scale
		for c := lo; c < hi; c++ {
			v := float64(scale * float64(n.Weight[c]))
			n.Value[c] = float32(v)
			n.Shift[c] = float32(float64(n.Bias[c]) - float64(mean*v))
		}
	}
}

//go:noinline
func callNormFactors(n *NormGroups) {
	norms.groups.factors(&n.Sum[0], &n.Inner[0], &n.Mean[0], &n.Scale[0], &n.Weight[0], &n.Bias[0], &n.Value[0], &n.Shift[0], n.Groups, n.Count, n.Epsilon)
}

// NormGradients adds to WeightGrad and BiasGrad, and computes the Grad, Value and Shift of
// [NormBackward], from the sums of the gradient of y and of its products with x: with
// z = (x - mean)*scale and u = dy*weight, over a group of Count values,
//
//	dx = scale * (u - sum(u)/Count - z*sum(u z)/Count)
//
// It leaves nothing of use in Sum and Inner.
func NormGradients(n *NormGroups) {
	if n.check(n.Weight, n.WeightGrad, n.BiasGrad, n.Grad, n.Value, n.Shift) && norms.groups.gradients != nil {
		callNormGradients(n)
		return
	}
	for g := range n.Groups {
		mean, scale := n.Mean[g], n.Scale[g]
		var sum, product float64 // of u, and of u and z
		lo, hi := g*n.Size, (g+1)*n.Size
		for c := lo; c < hi; c++ {
			w, s := float64(n.Weight[c]), n.Sum[c]
			dw := float64(scale * (n.Inner[c] - float64(mean*s)))
			n.BiasGrad[c] += float32(s)
			n.WeightGrad[c] += float32(dw)
			sum += float64(w * s)
			product += float64(w * dw)
			n.Grad[c] = float32(scale * w)
		}
		value := float64(-scale*scale) * product / n.Count
		each, shift := float32(value), float32(float64(-scale*sum)/n.Count-float64(value*mean))
		for c := lo; c < hi; c++ {
			n.Value[c], n.Shift[c] = each, shift
		}
	}
}

//go:noinline
func callNormGradients(n *NormGroups) {
	norms.groups.gradients(&n.Sum[0], &n.Inner[0], &n.Mean[0], &n.Scale[0], &n.Weight[0], &n.WeightGrad[0], &n.BiasGrad[0], &n.Grad[0], &n.Value[0], &n.Shift[0], n.Groups, n.Count)
}
