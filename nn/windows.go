package nn

import (
	"fmt"
	"strconv"
)

// sides writes a number of rows and one of columns: "3", or "1 x 3".
func sides(rows, columns int) string {
	if rows == columns {
		return strconv.Itoa(rows)
	}
	return fmt.Sprintf("%d x %d", rows, columns)
}

// pixels are the rows, or columns, of an image that a window holds; padded counts those
// of padding, too.
type pixels struct{ from, size, padded int }

// clipped returns those of a window that may reach over the edges and the padding.
func clipped(at, window, size, pad int) pixels {
	from := max(at, 0)
	return pixels{from, min(at+window, size) - from, min(at+window, size+pad) - at}
}

// strided returns the windows of a pool that lie within the image and its padding. With
// ceil there is one more where that leaves out the end of the image, unless it would begin
// after it.
func strided(size, window, stride, pad int, ceil bool) []pixels {
	var all []pixels
	at := -pad
	for ; at+window <= size+pad; at += stride {
		all = append(all, clipped(at, window, size, pad))
	}
	if ceil && at-stride+window < size+pad && at < size {
		all = append(all, clipped(at, window, size, pad))
	}
	return all
}

// adaptive returns n windows that cover an image, as PyTorch's adaptive pools have them.
func adaptive(size, n int) []pixels {
	all := make([]pixels, n)
	for i := range n {
		from := i * size / n
		to := ((i+1)*size + n - 1) / n
		all[i] = pixels{from, to - from, to - from}
	}
	return all
}
