package kernels

import "unsafe"

// The kernels of Winograd's minimal filtering F(2x2, 3x3) (Lavin and Gray 2016,
// "Fast algorithms for convolutional neural networks", section 4.1) take a 3 x 3
// convolution of stride 1 to 16 matrix products and back. An output tile of 2 x 2
// pixels needs an input tile d of 4 x 4, and with the matrices
//
//	     1  0 -1  0         1    0    0
//	B' = 0  1  1  0    G = 1/2  1/2  1/2    A' = 1  1  1  0
//	     0 -1  1  0        1/2 -1/2  1/2         0  1 -1 -1
//	     0  1  0 -1         0    0    1
//
// it is A' ((G g G') * (B' d B)) A, where * multiplies element by element and is
// summed over the channels: one matrix product for each of the 16 elements. The
// gradient of the weights g is G' ((B' d B) * (A dy A')) G, summed over the tiles.
// Every transform goes over the rows first and then over the columns, with plain
// additions in the order that the generic functions show, so that its bits are the
// same on every level.

// Tiles holds 16 matrices of one row per tile: the value of tile t and channel c in
// matrix 4*row+column of the tile is Data[(4*row+column)*Plane + t*Ld + c].
type Tiles struct {
	Data      []float32
	Plane, Ld int
}

// winogradTable holds the transforms of one level. Channels and vectors are counted
// in units of 16 floats and above 0; pixel, ld, plane and so on are distances in
// bytes.
type winogradTable struct {
	// input writes the tiles whose four rows start at r0 to r3, two pixels apart.
	input func(dst, r0, r1, r2, r3 *float32, tiles, channels, pixel, ld, plane int)
	// spread writes the tiles A dy A' of the 2 x 2 pixels whose two rows start at
	// r0 and r1, with the last row and column negated.
	spread func(dst, r0, r1 *float32, tiles, channels, pixel, ld, plane int)
	// output adds bias to the tiles' 2 x 2 pixels and stores them in rows that
	// start at r0 and r1; relu is 0 or 1.
	output func(r0, r1, src, bias *float32, tiles, channels, pixel, ld, plane, relu int)
	// weights computes 16 planes G g G' from 9, and gradient 9 planes from 16 whose
	// last row and column are negated.
	weights, gradient func(dst, src *float32, vectors, dstPlane, srcPlane int)
}

var winograds winogradTable

// winogradCall is the most vectors of 16 floats in each of 16 planes that one call
// of assembly handles.
const winogradCall = 1024

const msgWinograd = "kernels: Winograd transform with channels that are no multiple of Width, a negative size, or a slice too short"

// check panics unless the tiles have n rows of c floats.
func (v *Tiles) check(n, c int) {
	if n < 0 || c < 0 || c%Width != 0 || v.Plane < 0 || v.Ld < 0 || n > 0 && len(v.Data) < 15*v.Plane+(n-1)*v.Ld+c {
		panic(msgWinograd)
	}
}

func checkPixels(rows [][]float32, n, pixel, c int) {
	for _, r := range rows {
		if pixel < 0 || len(r) < (n-1)*pixel+c {
			panic(msgWinograd)
		}
	}
}

// WinogradInput writes B' d B of a row of tiles to v. The four rows of the tiles
// start at rows[0] to rows[3], with pixel floats from one pixel to the next and
// 2*tiles+2 pixels of c channels, a multiple of [Width]; a tile starts two pixels
// after the one before.
func WinogradInput(v Tiles, rows *[4][]float32, pixel, tiles, c int) {
	v.check(tiles, c)
	if tiles == 0 || c == 0 {
		return
	}
	checkPixels(rows[:], 2*tiles+2, pixel, c)
	v.race(tiles, c, raceWrite[float32])
	for _, r := range rows {
		racePixels(r, 2*tiles+2, pixel, c, raceRead[float32])
	}
	most := max(winogradCall*Width/c, 1)
	for at := 0; at < tiles; at += most {
		callInput(&v.Data[at*v.Ld], &rows[0][2*at*pixel], &rows[1][2*at*pixel], &rows[2][2*at*pixel], &rows[3][2*at*pixel], min(most, tiles-at), c/Width, 4*pixel, 4*v.Ld, 4*v.Plane)
	}
}

//go:noinline
func callInput(dst, r0, r1, r2, r3 *float32, tiles, channels, pixel, ld, plane int) {
	winograds.input(dst, r0, r1, r2, r3, tiles, channels, pixel, ld, plane)
}

// WinogradSpread writes A dy A' of a row of tiles to z, but for the signs of the
// last row and the last column, which are turned; what is in both keeps its sign.
// The two rows of the tiles start at rows[0] and rows[1] and have 2*tiles pixels of
// c channels.
func WinogradSpread(z Tiles, rows *[2][]float32, pixel, tiles, c int) {
	z.check(tiles, c)
	if tiles == 0 || c == 0 {
		return
	}
	checkPixels(rows[:], 2*tiles, pixel, c)
	z.race(tiles, c, raceWrite[float32])
	for _, r := range rows {
		racePixels(r, 2*tiles, pixel, c, raceRead[float32])
	}
	most := max(winogradCall*Width/c, 1)
	for at := 0; at < tiles; at += most {
		callSpread(&z.Data[at*z.Ld], &rows[0][2*at*pixel], &rows[1][2*at*pixel], min(most, tiles-at), c/Width, 4*pixel, 4*z.Ld, 4*z.Plane)
	}
}

//go:noinline
func callSpread(dst, r0, r1 *float32, tiles, channels, pixel, ld, plane int) {
	winograds.spread(dst, r0, r1, tiles, channels, pixel, ld, plane)
}

// WinogradOutput stores A' m A + bias of a row of tiles m, followed by a ReLU if
// relu, in 2*tiles pixels of c channels from rows[0] on, and as many from rows[1]
// on. bias has c values. The ReLU keeps NaN and -0.
func WinogradOutput(rows *[2][]float32, pixel int, m Tiles, bias []float32, tiles, c int, relu bool) {
	m.check(tiles, c)
	if tiles == 0 || c == 0 {
		return
	}
	checkPixels(rows[:], 2*tiles, pixel, c)
	if len(bias) < c {
		panic(msgWinograd)
	}
	m.race(tiles, c, raceRead[float32])
	raceRead(bias[:c])
	for _, r := range rows {
		racePixels(r, 2*tiles, pixel, c, raceWrite[float32])
	}
	mode := 0
	if relu {
		mode = 1
	}
	most := max(winogradCall*Width/c, 1)
	for at := 0; at < tiles; at += most {
		callOutput(&rows[0][2*at*pixel], &rows[1][2*at*pixel], &m.Data[at*m.Ld], &bias[0], min(most, tiles-at), c/Width, 4*pixel, 4*m.Ld, 4*m.Plane, mode)
	}
}

//go:noinline
func callOutput(r0, r1, src, bias *float32, tiles, channels, pixel, ld, plane, relu int) {
	winograds.output(r0, r1, src, bias, tiles, channels, pixel, ld, plane, relu)
}

// WinogradWeights stores G g G' in 16 planes of u: value i of plane p is
// u[p*uPlane+i]. The nine planes of g, a kernel's elements row by row, lie in w; n
// is the number of values in each, a multiple of [Width].
func WinogradWeights(u []float32, uPlane int, w []float32, wPlane, n int) {
	planes(winograds.weights, u, uPlane, 16, w, wPlane, 9, n)
}

// WinogradGradient stores G' u G in nine planes of w: the gradient of the weights
// from that of their transform, where the last row and the last column of u have
// turned signs, as they come from [WinogradSpread].
func WinogradGradient(w []float32, wPlane int, u []float32, uPlane, n int) {
	planes(winograds.gradient, w, wPlane, 9, u, uPlane, 16, n)
}

func planes(f func(dst, src *float32, vectors, dstPlane, srcPlane int), dst []float32, dstPlane, to int, src []float32, srcPlane, from, n int) {
	if n < 0 || n%Width != 0 || dstPlane < 0 || srcPlane < 0 || n > 0 && (len(dst) < (to-1)*dstPlane+n || len(src) < (from-1)*srcPlane+n) {
		panic(msgWinograd)
	}
	if n == 0 {
		return
	}
	if raceEnabled {
		for p := range to {
			raceWrite(dst[p*dstPlane:][:n])
		}
		for p := range from {
			raceRead(src[p*srcPlane:][:n])
		}
	}
	const most = winogradCall * Width
	for at := 0; at < n; at += most {
		callPlanes(f, &dst[at], &src[at], min(most, n-at)/Width, 4*dstPlane, 4*srcPlane)
	}
}

//go:noinline
func callPlanes(f func(dst, src *float32, vectors, dstPlane, srcPlane int), dst, src *float32, vectors, dstPlane, srcPlane int) {
	f(dst, src, vectors, dstPlane, srcPlane)
}

func (v *Tiles) race(n, c int, f func(x []float32)) {
	if !raceEnabled {
		return
	}
	for p := range 16 {
		racePixels(v.Data[p*v.Plane:], n, v.Ld, c, f)
	}
}

func racePixels(row []float32, n, pixel, c int, f func(x []float32)) {
	if !raceEnabled {
		return
	}
	for i := range n {
		f(row[i*pixel:][:c])
	}
}

// lane returns the float bytes after p.
func lane(p *float32, bytes int) *float32 { return (*float32)(unsafe.Add(unsafe.Pointer(p), bytes)) }
