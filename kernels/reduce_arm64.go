//go:build !purego

package kernels

func awayNEON(w, g, anchor []float32) (gg, gd, dd float32) {
	var memory [reduceBlock]float32
	d := memory[:len(w)]
	subNEON(d, anchor, w)
	return dotNEON(g, g), dotNEON(g, d), dotNEON(d, d)
}
