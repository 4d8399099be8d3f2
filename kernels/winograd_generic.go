package kernels

var winogradGeneric = winogradTable{
	input: winogradInputGeneric, spread: winogradSpreadGeneric, output: winogradOutputGeneric,
	weights: winogradWeightsGeneric, gradient: winogradGradientGeneric,
}

func winogradInputGeneric(dst, r0, r1, r2, r3 *float32, tiles, channels, pixel, ld, plane int) {
	for t := range tiles {
		for i := range channels * Width {
			var d, v [4][4]float32
			for x := range 4 {
				at := (2*t+x)*pixel + 4*i
				d[x] = inputColumn(*lane(r0, at), *lane(r1, at), *lane(r2, at), *lane(r3, at))
			}
			for y := range 4 {
				v[y] = inputColumn(d[0][y], d[1][y], d[2][y], d[3][y])
				for x := range 4 {
					*lane(dst, (4*y+x)*plane+t*ld+4*i) = v[y][x]
				}
			}
		}
	}
}

// inputColumn multiplies a column by B'.
func inputColumn(a, b, c, d float32) [4]float32 { return [4]float32{a - c, b + c, c - b, b - d} }

func winogradSpreadGeneric(dst, r0, r1 *float32, tiles, channels, pixel, ld, plane int) {
	for t := range tiles {
		for i := range channels * Width {
			at := 2*t*pixel + 4*i
			left, right := spreadColumn(*lane(r0, at), *lane(r1, at)), spreadColumn(*lane(r0, at+pixel), *lane(r1, at+pixel))
			for y := range 4 {
				for x, v := range spreadColumn(left[y], right[y]) {
					*lane(dst, (4*y+x)*plane+t*ld+4*i) = v
				}
			}
		}
	}
}

// spreadColumn multiplies a column by A, but for the sign of the last row.
func spreadColumn(a, b float32) [4]float32 { return [4]float32{a, a + b, a - b, b} }

func winogradOutputGeneric(r0, r1, src, bias *float32, tiles, channels, pixel, ld, plane, relu int) {
	for t := range tiles {
		for i := range channels * Width {
			var s [4][2]float32
			for x := range 4 {
				at := x*plane + t*ld + 4*i
				s[x] = outputColumn(*lane(src, at), *lane(src, at+4*plane), *lane(src, at+8*plane), *lane(src, at+12*plane))
			}
			for y, row := range [2]*float32{r0, r1} {
				for x, v := range outputColumn(s[0][y], s[1][y], s[2][y], s[3][y]) {
					v += *lane(bias, 4*i)
					if relu != 0 && v < 0 {
						v = 0
					}
					*lane(row, (2*t+x)*pixel+4*i) = v
				}
			}
		}
	}
}

// outputColumn multiplies a column by A'.
func outputColumn(a, b, c, d float32) [2]float32 { return [2]float32{a + b + c, b - c - d} }

func winogradWeightsGeneric(dst, src *float32, vectors, dstPlane, srcPlane int) {
	for i := range vectors * Width {
		var g [3][4]float32
		for x := range 3 {
			at := x*srcPlane + 4*i
			g[x] = weightColumn(*lane(src, at), *lane(src, at+3*srcPlane), *lane(src, at+6*srcPlane))
		}
		for y := range 4 {
			for x, v := range weightColumn(g[0][y], g[1][y], g[2][y]) {
				*lane(dst, (4*y+x)*dstPlane+4*i) = v
			}
		}
	}
}

// weightColumn multiplies a column by G.
func weightColumn(a, b, c float32) [4]float32 {
	ends := a + c
	return [4]float32{a, 0.5 * (ends + b), 0.5 * (ends - b), c}
}

func winogradGradientGeneric(dst, src *float32, vectors, dstPlane, srcPlane int) {
	for i := range vectors * Width {
		var u [4][3]float32
		for x := range 4 {
			at := x*srcPlane + 4*i
			u[x] = gradientColumn(*lane(src, at), *lane(src, at+4*srcPlane), *lane(src, at+8*srcPlane), *lane(src, at+12*srcPlane))
		}
		for y := range 3 {
			for x, v := range gradientColumn(u[0][y], u[1][y], u[2][y], u[3][y]) {
				*lane(dst, (3*y+x)*dstPlane+4*i) = v
			}
		}
	}
}

// gradientColumn multiplies a column whose last row has its sign turned by G'.
func gradientColumn(a, b, c, d float32) [3]float32 {
	half := float32(0.5 * (b + c))
	return [3]float32{a + half, float32(0.5 * (b - c)), half - d}
}
