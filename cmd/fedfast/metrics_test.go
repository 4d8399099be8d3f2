package main

import (
	"io"
	"net/http"
	"os"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// waitMetrics FILE PATTERN...: waits until each pattern is in the metrics of the coordinator that wrote FILE on stderr.
func waitMetrics(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: waitmetrics FILE PATTERN...")
	}
	address := regexp.MustCompile(`(?m)^fedfast: metrics at (http://127\.0\.0\.1:\d+/metrics)$`)
	var told []byte
	for range 600 {
		text, _ := os.ReadFile(ts.MkAbs(args[0])) // it may not have begun
		if m := address.FindSubmatch(text); m != nil {
			told = get(string(m[1]))
		}
		all := told != nil
		for _, pattern := range args[1:] {
			all = all && regexp.MustCompile("(?m)^fedfast_"+pattern+"$").Match(told)
		}
		if all {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("the metrics of %s do not come to %v, but to %s", args[0], args[1:], told)
}

// get returns what a server answers, nil if it does not.
func get(address string) []byte {
	r, err := http.Get(address) //nolint:gosec,noctx // of a test, on this machine
	if err != nil {
		return nil
	}
	defer func() { _ = r.Body.Close() }()
	if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != "text/plain; version=0.0.4" {
		return nil
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	return text
}
