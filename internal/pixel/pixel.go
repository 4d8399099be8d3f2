// Package pixel says which float a pixel's byte stands for.
package pixel

// Unit maps a byte k to k/255, rounded once.
var Unit = func() (t [256]float32) {
	for k := range t {
		t[k] = float32(float64(k) / 255)
	}
	return t
}()
