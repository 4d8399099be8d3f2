package kernels

import "unsafe"

var depthwiseGeneric = depthwiseTable{
	row: channelRowGeneric, run3: channelRowGeneric, run5: channelRowGeneric,
	one: channelWeightsGeneric(1), three: channelWeightsGeneric(3), five: channelWeightsGeneric(5),
	tile: 4,
}

func channelRowGeneric(y, x, w, bias *float32, taps *channelTap, count, pixels, channels, yStep, xStep, rows, yNext, xNext int) {
	n := channels * Width
	for r := range rows {
		for i := range pixels {
			to := unsafe.Slice(lane(y, r*(4*n+yNext)+i*yStep), n)
			copy(to, unsafe.Slice(bias, n))
			for _, t := range unsafe.Slice(taps, count) {
				weights := unsafe.Slice(lane(w, t.w), n)
				for c, v := range unsafe.Slice(lane(x, r*(4*n+xNext)+i*xStep+t.x), n) {
					to[c] += float32(weights[c] * v)
				}
			}
		}
	}
}

// channelWeightsGeneric returns the loop for taps neighbouring weights.
func channelWeightsGeneric(taps int) channelWeights {
	return func(gw, x, dy *float32, xTap, wTap, rows, pixels, channels, xStep, yStep, xNext, yNext, images, xImage, yImage int) {
		n := channels * Width
		for range images {
			for range rows {
				for range pixels {
					d := unsafe.Slice(dy, n)
					for t := range taps {
						g := unsafe.Slice(lane(gw, t*wTap), n)
						for c, v := range unsafe.Slice(lane(x, t*xTap), n) {
							g[c] += float32(d[c] * v)
						}
					}
					x, dy = lane(x, xStep), lane(dy, yStep)
				}
				x, dy = lane(x, xNext), lane(dy, yNext)
			}
			x, dy = lane(x, xImage), lane(dy, yImage)
		}
	}
}
