package memory

import (
	"errors"
	"runtime/debug"
	"strings"
	"testing"
)

// A limit of the Go runtime bounds what is available, and a demand beyond it is
// one line.
func TestCheck(t *testing.T) {
	old := debug.SetMemoryLimit(1 << 30)
	defer debug.SetMemoryLimit(old)
	if free := Available(); free < 1 || free > 1<<30 {
		t.Errorf("%d bytes are available below a limit of 1 GiB", free)
	}
	if err := Check(1 << 16); err != nil {
		t.Error(err)
	}
	err := Check(40e9)
	if err == nil || !strings.HasPrefix(err.Error(), "needs 40 GB of memory, only ") {
		t.Errorf("error %v", err)
	}
	debug.SetMemoryLimit(1)
	for range 3 {
		err = errors.Join(err, Check(little-1))
	}
	if strings.Count(err.Error(), "needs 8.39 MB of memory") < 1 {
		t.Errorf("a little several times without memory: %v", err)
	}
	if free := Available(); free != 0 {
		t.Errorf("%d bytes are available below a limit that is passed", free)
	}
}

func TestSize(t *testing.T) {
	for _, tt := range []struct {
		bytes int64
		want  string
	}{
		{0, "0 bytes"},
		{999, "999 bytes"},
		{999_999, "1 MB"},
		{1_254_000_000, "1.25 GB"},
		{4e12, "4 TB"},
		{1<<63 - 1, "9.22 EB"},
	} {
		if got := Size(tt.bytes); got != tt.want {
			t.Errorf("Size(%d) = %q, want %q", tt.bytes, got, tt.want)
		}
	}
}
