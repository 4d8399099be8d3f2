package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/tuners/host"
)

// latencyOf sorts times into a Latency.
func latencyOf(times []time.Duration) Latency {
	if len(times) == 0 {
		return Latency{}
	}
	sorted := slices.Clone(times)
	slices.Sort(sorted)
	at := func(q float64) float64 {
		return float64(sorted[min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted))))-1)].Nanoseconds()) / 1000
	}
	return Latency{Calls: len(sorted), P50: at(0.5), P99: at(0.99), Max: at(1)}
}

// latency looks at the times of the undisturbed studies.
func latency(_ context.Context, s *suite) (string, error) {
	l := latencyOf(s.times)
	s.report.Latency = l
	us := func(x float64) time.Duration { return round(time.Duration(x * 1000)) }
	text := fmt.Sprintf("p50 %s, p99 %s, max %s over %d calls", us(l.P50), us(l.P99), us(l.Max), l.Calls)
	if limit := s.o.P99; l.P99*1000 > float64(limit) {
		return "", fmt.Errorf("99th percentile of call latency is %s or more; at most %s is allowed (%s)", us(l.P99), limit, text)
	}
	return text, nil
}

// stdout tells what was printed in all checks before.
func stdout(_ context.Context, s *suite) (string, error) {
	if n := s.noise; n.Bytes > 0 {
		return "", fmt.Errorf("printed %d bytes to stdout, starting with %q; write to stderr instead, which goes to the log", n.Bytes, n.First)
	}
	return "", nil
}

// orphanPatience is how long a tuner may outlive its host.
const orphanPatience = 5 * time.Second

// orphan runs a host that launches the tuner, kills the host and waits for the
// tuner's end.
func orphan(ctx context.Context, s *suite) (string, error) {
	if len(s.o.Abandon) == 0 {
		return skip + "no host to kill", nil
	}
	if !canStop {
		return skip + "processes cannot be monitored on this system", nil
	}
	ref, err := json.Marshal(s.ref)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, s.o.Abandon[0], append(slices.Clone(s.o.Abandon[1:]), string(ref))...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // killed: the error says so
	if err != nil {
		return "", fmt.Errorf("the host to be killed did not start the tuner: %s", oneline.Of(stderr.String()))
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return "", fmt.Errorf("the host to be killed printed %q", line)
	}
	for begin := time.Now(); time.Since(begin) < orphanPatience; time.Sleep(20 * time.Millisecond) {
		if !runs(pid) {
			return fmt.Sprintf("exited %s after its host", round(time.Since(begin))), nil
		}
	}
	kill(pid)
	return "", fmt.Errorf("still running %s after its host was killed; it must exit when stdin is closed (%s) or its parent is gone", orphanPatience, "FEDFAST_TUNER_WATCH_STDIN=1")
}

// Abandon is the host of the check "orphan": it launches the tuner of a reference
// in JSON, without a parent-death signal, writes its pid and waits to be killed.
func Abandon(ctx context.Context, reference string, out io.Writer) error {
	var ref host.Ref
	if err := json.Unmarshal([]byte(reference), &ref); err != nil {
		return fmt.Errorf("invalid tuner reference: %w", err)
	}
	p, err := host.Launch(ctx, ref, host.Options{NoDeathSignal: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer p.Close()
	if _, err := fmt.Fprintln(out, p.PID()); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		return errors.New("host was not killed within a minute")
	}
}
