package tensor

import "github.com/fedfast/fedfast/kernels"

// Windows computes a convolution with a stride, and the gradient of its weights, on some images
// at a time, as the Dense layer of their windows: a row of outputs has too few to be worth reading
// the weights for. Windows have zeros for what is above or below an image, which change no finite
// sum that is not zero.
type Windows struct {
	Dense
	Rows, Step int // windows of an image, and how far apart they lie: no two meet in one set of a cache
	Images     int // most in a call; 0 where windows are better read in place
	v          Conv
}

// windowsRows is how many rows the products of some images should have, and one image may not.
const windowsRows = 64

// Windows returns what computes v by copies of windows.
func (v Conv) Windows() Windows {
	w := Windows{Dense: Dense{v.Rows(), v.N, v.out}, Rows: v.OH * v.OW, Step: v.Rows() | kernels.Width, v: v}
	if v.Stride > 1 && v.C%kernels.Width == 0 && 2*w.Rows <= windowsRows {
		w.Images = windowsRows / w.Rows
	}
	return w
}

// Space returns the floats of the windows and outputs of a call.
func (w Windows) Space() int { return w.Images * w.Rows * (w.Step + w.N) }

// Load copies the windows of an image, which is placed as in Conv.Forward.
func (w Windows) Load(to, x []float32, xRow int) {
	v, n := w.v, w.v.KW*w.v.C
	for i := range v.OH * v.KH {
		r, k := i/v.KH, i%v.KH
		at, row := to[r*v.OW*w.Step+k*n:], r*v.Stride-v.Top+k
		if row >= 0 && row < v.H {
			kernels.CopyRows(at, w.Step, x[row*xRow:], v.Stride*v.C, v.OW, n)
			continue
		}
		for j := range v.OW {
			clear(at[j*w.Step:][:n])
		}
	}
}
