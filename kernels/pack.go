package kernels

// Width is the number of columns of a packed panel, the same on every level.
const Width = 16

// Pad returns n rounded up to a multiple of [Width].
func Pad(n int) int { return (n + Width - 1) &^ (Width - 1) }

const (
	msgPackShape = "kernels: pack with a negative size or a row length below n"
	msgPackShort = "kernels: pack with a slice too short for its shape"
)

// Pack writes the row-major k x n matrix src (row length lds) into dst in the
// packed layout, k*Pad(n) floats, with zeros in the columns n to Pad(n). dst and
// src must not overlap.
func Pack(dst, src []float32, k, n, lds int) {
	checkPack(dst, src, k, n, lds)
	for j := 0; j < n; j += Width {
		w := min(Width, n-j)
		panel := dst[j*k:][:k*Width]
		if w == Width {
			CopyRows(panel, Width, src[j:], lds, k, Width)
			continue
		}
		for r := range k {
			row := panel[r*Width:][:Width]
			clear(row[copy(row, src[r*lds+j:][:w]):])
		}
	}
}

// Unpack writes the packed k x n matrix src into the row-major dst (row length
// ldd). Columns of dst from n on are left alone. dst and src must not overlap.
func Unpack(dst, src []float32, k, n, ldd int) {
	checkPack(src, dst, k, n, ldd)
	for j := 0; j < n; j += Width {
		w := min(Width, n-j)
		panel := src[j*k:][:k*Width]
		if w == Width {
			CopyRows(dst[j:], ldd, panel, Width, k, Width)
			continue
		}
		for r := range k {
			copy(dst[r*ldd+j:][:w], panel[r*Width:])
		}
	}
}

// CopyRows copies m rows of n floats, which are ldd floats apart in dst and lds in src.
// dst and src must not overlap.
func CopyRows(dst []float32, ldd int, src []float32, lds, m, n int) {
	if m < 0 || n < 0 || !hasRows(dst, ldd, m, n) || !hasRows(src, lds, m, n) {
		panic(msgPackShort)
	}
	if m == 0 {
		return
	}
	if raceEnabled {
		for i := range m {
			raceRead(src[i*lds:][:n])
			raceWrite(dst[i*ldd:][:n])
		}
	}
	lines := n / Width
	if most := max(copyCall/max(lines, 1), 1); lines > 0 {
		for i := 0; i < m; i += most {
			runCopyRows(&dst[i*ldd], &src[i*lds], min(most, m-i), 4*ldd, 4*lds, lines)
		}
	}
	if done := lines * Width; done < n {
		for i := range m {
			copy(dst[i*ldd+done:][:n-done], src[i*lds+done:])
		}
	}
}

// copyCall is the most lines of 16 floats of one call of assembly, about 100 us.
const copyCall = 1 << 14

// runCopyRows is a Go function of its own so that the runtime can interrupt a loop of
// calls.
//
//go:noinline
func runCopyRows(dst, src *float32, rows, dstStep, srcStep, lines int) {
	gemms.copyRows(dst, src, rows, dstStep, srcStep, lines)
}

func checkPack(packed, plain []float32, k, n, ld int) {
	if k < 0 || n < 0 || ld < n {
		panic(msgPackShape)
	}
	if len(packed) < k*Pad(n) || k > 0 && len(plain) < (k-1)*ld+n {
		panic(msgPackShort)
	}
}

// PackT writes the packed transpose of a packed block of k rows and Pad(n) columns:
//
//	dst[(r/16)*dstRows*16 + j*16 + r%16] = src[(j/16)*srcRows*16 + r*16 + j%16]   for r < k, j < Pad(n)
//
// and zero for k <= r < Pad(k). srcRows >= k and dstRows >= Pad(n) are the rows
// that a panel has in memory, so that a block of a larger packed matrix can be
// transposed in place of it. dst and src must not overlap.
func PackT(dst []float32, dstRows int, src []float32, srcRows, k, n int) {
	if k < 0 || n < 0 || srcRows < k || dstRows < Pad(n) {
		panic(msgPackShape)
	}
	if k == 0 || n == 0 {
		return
	}
	if len(src) < (Pad(n)/Width-1)*srcRows*Width+k*Width || len(dst) < (Pad(k)/Width-1)*dstRows*Width+Pad(n)*Width {
		panic(msgPackShort)
	}
	if raceEnabled {
		racePackT(dst, dstRows, src, srcRows, k, n)
	}
	whole := k / Width
	for j := 0; j < n; j += Width {
		for b := 0; b < whole; b += packCall {
			r := b * Width
			runTranspose(&dst[r*dstRows+j*Width], &src[j*srcRows+r*Width], min(packCall, whole-b), 4*Width*dstRows)
		}
		if r := whole * Width; r < k {
			transposeRows(dst[r*dstRows+j*Width:], src[j*srcRows+r*Width:], k-r)
		}
	}
}

// packCall is the most blocks of 16 x 16 floats of one call of assembly.
const packCall = 256

// runTranspose is a Go function of its own so that the runtime can interrupt a loop
// of calls.
//
//go:noinline
func runTranspose(dst, src *float32, blocks, dstStep int) {
	gemms.transpose(dst, src, blocks, dstStep)
}

// transposeRows writes the transpose of fewer than 16 rows of 16 floats as 16 rows
// of 16 floats, zero from column rows on.
func transposeRows(dst, src []float32, rows int) {
	d := (*[Width * Width]float32)(dst)
	clear(d[:])
	for r := range rows {
		for j, v := range src[r*Width:][:Width] {
			d[j*Width+r] = v
		}
	}
}

func racePackT(dst []float32, dstRows int, src []float32, srcRows, k, n int) {
	for r := 0; r < k; r += Width {
		raceWrite(dst[r*dstRows:][:Pad(n)*Width])
	}
	for j := 0; j < n; j += Width {
		raceRead(src[j*srcRows:][:k*Width])
	}
}
