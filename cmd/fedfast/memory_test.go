package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// limited FROM TO STEP ARGS: below limits of the address space from FROM to TO MB,
// fedfast ARGS either does its work or prints one line on stderr and exits with
// code 1, each of them at least once. Below FROM the runtime itself may not start.
func limited(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: limited FROM TO STEP ARGS")
	}
	var bounds [3]int
	for i := range bounds {
		n, err := strconv.Atoi(args[i])
		ts.Check(err)
		bounds[i] = n
	}
	worked, refused := 0, 0
	for mb := bounds[0]; mb <= bounds[1]; mb += bounds[2] {
		ts.Check(os.RemoveAll(ts.MkAbs("limited")))
		err := ts.Exec("sh", append([]string{"-c", fmt.Sprintf(`ulimit -v %d; fedfast "$@"; echo "code $?"`, mb<<10), "sh"},
			args[3:]...)...)
		ts.Check(err)
		stderr, stdout := ts.ReadFile("stderr"), ts.ReadFile("stdout")
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		switch {
		case strings.HasSuffix(stdout, "code 0\n"):
			worked++
		case strings.HasSuffix(stdout, "code 1\n") && strings.HasPrefix(lines[len(lines)-1], "fedfast: ") &&
			strings.Contains(lines[len(lines)-1], "memory") && !strings.Contains(stderr, "goroutine"):
			refused++
		default:
			ts.Fatalf("below a limit of %d MB: %s\n%.3000s", mb, stdout, stderr)
		}
	}
	if worked == 0 || refused == 0 {
		ts.Fatalf("%d limits sufficed and %d did not", worked, refused)
	}
}
