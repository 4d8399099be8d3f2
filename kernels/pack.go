package kernels

// Width is the number of columns of a packed panel, the same on every level.
const Width = 16

// Pad returns n rounded up to a multiple of [Width].
func Pad(n int) int { return (n + Width - 1) &^ (Width - 1) }

const (
	msgPackShape = "kernels: pack with a negative size or a row length below n"
	msgPackShort = "kernels: pack with a slice too short for its shape"
)

// Pack writes the row-major k x n matrix src (row length lds) into dst in the packed layout, k*Pad(n) floats, with zeros in the
// columns n to Pad(n). dst and src must not overlap.
func Pack(dst, src []float32, k, n, lds int) {
	checkPack(dst, src, k, n, lds)
	for j := 0; j < n; j += Width {
		w := min(Width, n-j)
		panel := dst[j*k:][:k*Width]
		for r := range k {
			row := panel[r*Width:][:Width]
			clear(row[copy(row, src[r*lds+j:][:w]):])
		}
	}
}

// Unpack writes the packed k x n matrix src into the row-major dst (row length ldd). Columns of dst from n on are left alone.
// dst and src must not overlap.
func Unpack(dst, src []float32, k, n, ldd int) {
	checkPack(src, dst, k, n, ldd)
	for j := 0; j < n; j += Width {
		w := min(Width, n-j)
		panel := src[j*k:][:k*Width]
		for r := range k {
			copy(dst[r*ldd+j:][:w], panel[r*Width:])
		}
	}
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
// and zero for k <= r < Pad(k). srcRows >= k and dstRows >= Pad(n) are the rows that a panel has in memory, so that a block of a larger
// packed matrix can be transposed in place of it. dst and src must not overlap.
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
	for j := 0; j < n; j += Width {
		for r := 0; r < k; r += Width {
			transpose(dst[r*dstRows+j*Width:], src[j*srcRows+r*Width:], min(Width, k-r))
		}
	}
}

// transpose writes the transpose of rows rows of 16 floats as 16 rows of 16 floats, zero from column rows on.
func transpose(dst, src []float32, rows int) {
	d := (*[Width * Width]float32)(dst)
	s := src[:rows*Width]
	for j := range Width {
		for r := range Width {
			v := float32(0)
			if r < rows {
				v = s[r*Width+j]
			}
			d[j*Width+r] = v
		}
	}
}
