package bench

import (
	"bytes"
	"os"
	"strconv"
)

// resetPeakRSS starts the measuring of the most memory afresh; where the system
// forbids it, the peak is that since the process began.
func resetPeakRSS() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// processRSS returns the bytes that another process holds in memory, 0 where the
// system does not tell.
func processRSS(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
