package main

import (
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

// handed FILE VAR: sets a variable to the assignment with which a study's output
// hands its table to another study.
func handed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: handed FILE VAR")
	}
	m := regexp.MustCompile(`(?m)^to reuse this table in another study: --set '(.*)'$`).FindStringSubmatch(ts.ReadFile(args[0]))
	if m == nil {
		ts.Fatalf("%s hands no table", args[0])
	}
	ts.Setenv(args[1], m[1])
}
