package fetch

import (
	"net/http"
	"testing"
)

// FuzzAnswer: whatever a server says of an answer, a part is kept only where it
// fits.
func FuzzAnswer(f *testing.F) {
	f.Add(200, int64(10), "", int64(0))
	f.Add(206, int64(5), "bytes 5-9/10", int64(5))
	f.Add(206, int64(5), "bytes 5-9/*", int64(5))
	f.Add(206, int64(5), "bytes 5-9/-1", int64(5))
	f.Add(206, int64(5), "bytes 18446744073709551615-9/4", int64(5))
	f.Add(416, int64(0), "bytes */5", int64(9))
	f.Fuzz(func(t *testing.T, code int, length int64, contentRange string, have int64) {
		file := File{Name: "x", Size: 10}
		resp := &http.Response{StatusCode: code, ContentLength: length, Header: http.Header{"Content-Range": {contentRange}}}
		keep, of, err := file.accept(resp, max(0, have))
		if err == nil && (keep != 0 && keep != have || of != 10 || code != 200 && code != 206) {
			t.Errorf("keeps %d of %d, of %d in all", keep, have, of)
		}
	})
}
