//go:build linux

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// queue is Slurm on this machine alone, with a configuration and keys of its own.
type queue struct {
	t   *testing.T
	dir string
	env []string
}

// startQueue starts munged, slurmctld and slurmd, which need not be root.
func startQueue(t *testing.T) *queue {
	t.Helper()
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("Slurm is not here: %v", err)
		}
	}
	dir := t.TempDir()
	q := &queue{t: t, dir: dir, env: append(os.Environ(), "SLURM_CONF="+filepath.Join(dir, "slurm.conf"))}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".") // as Slurm calls it
	text := fmt.Sprintf(slurmConf, dir, host, os.Getuid(), freePort(t), freePort(t))
	for name, content := range map[string]string{"slurm.conf": text, "munge.key": strings.Repeat("of this test ", 10)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	q.serve("munged", "-F", "--force", "--key-file="+at("munge.key"), "--socket="+at("munge"),
		"--pid-file="+at("munged.pid"), "--log-file="+at("munged.log"), "--seed-file="+at("munged.seed"))
	q.until("munged", func() bool { return has(at("munge")) })
	q.serve("slurmctld", "-D")
	q.serve("slurmd", "-D")
	q.until("the node", func() bool {
		state, err := q.command("sinfo", "-h", "-o", "%T").Output() // fails while nobody answers
		return err == nil && strings.TrimSpace(string(state)) == "idle"
	})
	return q
}

// slurmConf is the configuration of a single node.
const slurmConf = `ClusterName=test
SlurmctldHost=%[2]s(127.0.0.1)
SlurmUser=%[3]d
SlurmdUser=%[3]d
SlurmctldPort=%[4]d
SlurmdPort=%[5]d
AuthType=auth/munge
AuthInfo=socket=%[1]s/munge
CredType=cred/munge
StateSaveLocation=%[1]s
SlurmdSpoolDir=%[1]s
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd.pid
SlurmctldLogFile=%[1]s/slurmctld.log
SlurmdLogFile=%[1]s/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=2
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
NodeName=%[2]s NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`

// freePort is a port that nobody has at the moment.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // for another one
	return l.Addr().(*net.TCPAddr).Port
}

func (q *queue) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(q.t.Context(), name, args...)
	cmd.Env, cmd.Dir = q.env, q.dir
	return cmd
}

// serve starts a daemon that ends with the test.
func (q *queue) serve(name string, args ...string) {
	q.t.Helper()
	cmd := q.command(name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		q.t.Fatal(err)
	}
	q.t.Cleanup(func() {
		_, _ = cmd.Process.Kill(), cmd.Wait()
		if q.t.Failed() {
			q.t.Logf("%s: %s", name, out.String())
		}
	})
}

// until waits until something holds.
func (q *queue) until(what string, holds func() bool) {
	q.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			for _, name := range []string{"slurmctld.log", "slurmd.log", "job.out"} {
				text, _ := os.ReadFile(filepath.Join(q.dir, name)) // it may not have begun
				q.t.Logf("%s: %s", name, text)
			}
			q.t.Fatalf("%s: it takes too long", what)
		}
	}
}

// submit starts the script of a job; it returns its number.
func (q *queue) submit(args ...string) string {
	q.t.Helper()
	out, err := q.command("sbatch", append([]string{"--parsable", "--output=job.out"}, args...)...).CombinedOutput()
	if err != nil {
		q.t.Fatalf("sbatch: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// end waits until a job has ended and returns the state that it has then.
func (q *queue) end(job string) string {
	q.t.Helper()
	var state string
	q.until("job "+job, func() bool {
		out, err := q.command("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").Output()
		if err != nil {
			return false
		}
		state = strings.TrimSpace(string(out))
		return state == "COMPLETED" || state == "FAILED" || state == "CANCELLED"
	})
	return state
}

// TestSlurm runs the script of fl/study/cluster/launch as a job, which is cancelled,
// and submitted again: all is as in one process.
func TestSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts Slurm")
	}
	t.Parallel()
	q := startQueue(t)
	launch, err := filepath.Abs(filepath.Join("..", "..", "fl", "study", "cluster", "launch", "slurm.sh"))
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{
		"--preset", "fashion-fedex", "--set", "data.clients=16", "--set", "cohort=4", "--set", `model="logistic"`, "--set",
		"client.epochs=30",
		"--set", "budget.rounds=60", "--set", "budget.trial_rounds=12", "--client-tuner", "fedex",
		"--set", "tuner.options={eta=3,eliminations=2}",
	}
	alone := append([]string{"tune", "--study", "one", "--workers", "1"}, settings...)
	if out, err := q.command("fedfast", alone...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	submit := func() string { return q.submit(append([]string{launch, "two"}, settings...)...) }
	lines := func() int {
		text, _ := os.ReadFile(filepath.Join(q.dir, "two", "metrics.jsonl")) // it may not have begun
		return bytes.Count(text, []byte("\n"))
	}
	job := submit()
	q.until("the first rounds", func() bool { return lines() > 4 })
	if out, err := q.command("scancel", job).CombinedOutput(); err != nil {
		t.Fatalf("scancel: %v: %s", err, out)
	}
	if state := q.end(job); state != "CANCELLED" {
		t.Errorf("the job that was cancelled is %s", state)
	}
	q.until("what is left of the first job", func() bool {
		state, err := q.command("sinfo", "-h", "-o", "%T").Output()
		return err == nil && strings.TrimSpace(string(state)) == "idle"
	})
	before := lines()
	if state := q.end(submit()); state != "COMPLETED" {
		t.Errorf("the job is %s", state)
	}
	if after := lines(); before == after {
		t.Errorf("the study had ended before: %d lines", before)
	}
	for _, name := range []string{"metrics.jsonl", "model.safetensors"} {
		want, err := os.ReadFile(filepath.Join(q.dir, "one", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(q.dir, "two", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of the job is not that of one process (%v)", name, err)
		}
	}
	told, err := os.ReadFile(filepath.Join(q.dir, "job.out"))
	if err != nil {
		t.Fatal(err)
	}
	if joined, ended := bytes.Count(told, []byte(" joined (")),
		bytes.Count(told, []byte("the study has ended")); joined < 3 || ended != 2 {
		t.Errorf("%d workers joined and %d ended with the study: %s", joined, ended, told)
	}
	q.page(t, "cmd/fedfast/docs/cluster.md")
}

// page runs a page's blocks `sh slurm` with the files that it shows, and waits for their jobs.
func (q *queue) page(t *testing.T, name string) {
	t.Helper()
	dir := t.TempDir()
	q.dir, q.env = dir, append(q.env, "SBATCH_WAIT=1")
	checkout, err := filepath.Abs(root)
	if err == nil {
		err = os.Symlink(checkout, filepath.Join(dir, "fedfast"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range fence.FindAllStringSubmatch(readText(t, name), -1) {
		switch language, info, text := b[1], b[2], b[3]; {
		case language == "sh" && info == "slurm":
			if out, err := q.command("sh", "-eu", "-c", text).CombinedOutput(); err != nil {
				t.Fatalf("%v:\n%s\n%s", err, text, out)
			}
		case language != "sh" && info != "":
			if err := os.WriteFile(filepath.Join(dir, info), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for seed := range 3 {
		if !has(filepath.Join(dir, "seeds", strconv.Itoa(seed+1), "result.json")) {
			t.Errorf("seed %d of the job array has no result", seed+1)
		}
	}
}
