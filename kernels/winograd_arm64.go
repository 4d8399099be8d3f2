//go:build !purego

package kernels

// What these functions do is said at winogradTable.

//go:noescape
func winogradInputNEON(dst, r0, r1, r2, r3 *float32, tiles, channels, pixel, ld, plane int)

//go:noescape
func winogradSpreadNEON(dst, r0, r1 *float32, tiles, channels, pixel, ld, plane int)

//go:noescape
func winogradOutputNEON(r0, r1, src, bias *float32, tiles, channels, pixel, ld, plane, relu int)

//go:noescape
func winogradWeightsNEON(dst, src *float32, vectors, dstPlane, srcPlane int)

//go:noescape
func winogradGradientNEON(dst, src *float32, vectors, dstPlane, srcPlane int)
