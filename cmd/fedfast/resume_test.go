package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// waitLines FILE N: waits until the file has N lines.
func waitLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitlines FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	for range 3000 {
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && bytes.Count(text, []byte("\n")) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s does not come to %d lines", args[0], n)
}

// stopAt SIGNAL LEAST MOST STUDY ARGS: runs fedfast ARGS and sends it SIGNAL when
// it has brought the metrics of STUDY to LEAST lines. On a busy machine the signal
// can come too late, when there are more than MOST lines or the study has ended:
// then the study is put back as it was, and all is done again. What fedfast wrote
// on stderr is in STUDY.err.
func stopAt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: stopat SIGNAL LEAST MOST STUDY ARGS")
	}
	signals := map[string]os.Signal{"INT": os.Interrupt, "KILL": os.Kill}
	least, err := strconv.Atoi(args[1])
	ts.Check(err)
	most, err := strconv.Atoi(args[2])
	ts.Check(err)
	study, before := ts.MkAbs(args[3]), filepath.Join(ts.Getenv("WORK"), "before."+args[3])
	ts.Check(os.RemoveAll(before))
	ts.Check(os.MkdirAll(study, 0o700))
	ts.Check(os.CopyFS(before, os.DirFS(study)))
	bin, _, _ := strings.Cut(ts.Getenv("PATH"), string(filepath.ListSeparator))
	least = max(least, lines(study)+1)
	for range 20 {
		var stderr bytes.Buffer
		cmd := exec.Command(filepath.Join(bin, "fedfast"), args[4:]...)
		cmd.Dir, cmd.Stderr = ts.MkAbs("."), &stderr
		ts.Check(cmd.Start())
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // ProcessState tells
			close(ended)
		}()
		for alive := true; alive && lines(study) < least; {
			select {
			case <-ended:
				alive = false
			case <-time.After(time.Millisecond):
			}
		}
		_ = cmd.Process.Signal(signals[args[0]]) // it may have ended
		<-ended
		if n := lines(study); !cmd.ProcessState.Success() && n >= least && n <= most {
			ts.Check(os.WriteFile(study+".err", stderr.Bytes(), 0o600))
			return
		}
		ts.Logf("with %d lines: %v: %s", lines(study), cmd.ProcessState, &stderr)
		ts.Check(os.RemoveAll(study))
		ts.Check(os.CopyFS(study, os.DirFS(before)))
	}
	ts.Fatalf("%s never stops between %d and %d lines", args[3], least, most)
}

// lines counts those of a study's metrics.
func lines(study string) int {
	text, err := os.ReadFile(filepath.Join(study, "metrics.jsonl"))
	if err != nil {
		return 0
	}
	return bytes.Count(text, []byte("\n"))
}

// flip FILE: changes a bit in the middle of a file.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip FILE")
	}
	name := ts.MkAbs(args[0])
	text, err := os.ReadFile(name)
	ts.Check(err)
	random := rand.New(rand.NewPCG(1, 2))
	// Among the records: text of JSON, which no free part of a page holds.
	at := bytes.Index(text[len(text)/2:], []byte(`"train_loss"`)) + len(text)/2
	text[at+random.IntN(10)+1] ^= 4
	ts.Check(os.WriteFile(name, text, 0o600))
}

// sameText FILE FILE PATTERN: the files hold the same lines but for those that
// match.
func sameText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: sametext FILE FILE PATTERN")
	}
	odd := regexp.MustCompile(`(?m)` + args[2] + `.*$`)
	a, b := odd.ReplaceAllString(ts.ReadFile(args[0]), ""), odd.ReplaceAllString(ts.ReadFile(args[1]), "")
	if a != b {
		ts.Fatalf("%s and %s differ:\n%s\n%s", args[0], args[1], a, b)
	}
}

// earlyKills FILE MODEL: begins runs of a study file and kills each within its
// first half second. Each is then resumed, or holds nothing to resume and is begun
// again, and returns the model.
func earlyKills(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: earlykills FILE MODEL")
	}
	bin, _, _ := strings.Cut(ts.Getenv("PATH"), string(filepath.ListSeparator))
	random := rand.New(rand.NewPCG(3, 4))
	for n := range 12 {
		dir := "early" + strconv.Itoa(n)
		cmd := exec.Command(filepath.Join(bin, "fedfast"), "run", args[0], "--study", dir)
		cmd.Dir = ts.MkAbs(".")
		ts.Check(cmd.Start())
		time.Sleep(time.Duration(random.Int64N(int64(500 * time.Millisecond))))
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if err := ts.Exec("fedfast", "study", "resume", dir); err != nil {
			if stderr := ts.ReadFile("stderr"); !strings.Contains(stderr, "no study") && !strings.Contains(stderr,
				"no such directory") {
				ts.Fatalf("killed early, %s is resumed with %v: %s", dir, err, stderr)
			}
			ts.Check(ts.Exec("fedfast", "run", args[0], "--study", dir))
		}
		if ts.ReadFile(filepath.Join(dir, "model.safetensors")) != ts.ReadFile(args[1]) {
			ts.Fatalf("killed early, %s returns another model", dir)
		}
	}
}
