package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Bounds on what one answer holds and on how long one call takes.
const (
	maxRows    = 500
	maxEvents  = 200
	maxPrinted = 16 << 20 // bytes of the program's output
	maxCall    = 5 * time.Minute
	maxWait    = time.Minute
	grace      = 30 * time.Second // from an interrupt to a kill
)

// job is a training that runs.
type job struct {
	study string
	cmd   *exec.Cmd
	began time.Time
	limit time.Duration // of its time
	stop  context.CancelFunc
	ended chan struct{} // closed when it has ended
	err   error         // of the ended training
}

// limited keeps the beginning of what is written.
type limited struct {
	bytes.Buffer
	most int
}

// Write never fails: what is too much is dropped.
func (l *limited) Write(p []byte) (int, error) {
	l.Buffer.Write(p[:min(len(p), max(l.most-l.Len(), 0))])
	return len(p), nil
}

// tail keeps the end of what is written.
type tail struct{ text []byte }

// Write keeps the last 4 KiB.
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-4<<10):]
	return len(p), nil
}

// reason returns the program's last line about an error.
func (t *tail) reason(err error) error {
	said := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	for _, line := range slices.Backward(said) {
		if rest, ok := strings.CutPrefix(line, "fedfast: "); ok {
			return errors.New(rest)
		}
	}
	return err
}

// call runs the program and returns what it prints.
func (s *Server) call(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	defer cancel()
	out, errs := &limited{most: maxPrinted}, &tail{}
	cmd := exec.CommandContext(ctx, s.Program, slices.Concat(args, s.Args)...) //nolint:gosec // it is this program
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Run(); err != nil {
		return nil, errs.reason(err)
	}
	if out.Len() == out.most {
		return nil, fmt.Errorf("more than %d MiB of output", maxPrinted>>20)
	}
	return out.Bytes(), nil
}

// left returns what is left of the budget. The lock is held.
func (s *Server) left() time.Duration {
	left := s.Budget - s.spent
	for _, j := range s.jobs {
		if !j.over() {
			left -= time.Since(j.began)
		}
	}
	return max(left, 0)
}

// running returns the studies that train, sorted. The lock is held.
func (s *Server) running() []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(s.jobs)) {
		if !s.jobs[name].over() {
			names = append(names, name)
		}
	}
	return names
}

// over reports whether a training has ended.
func (j *job) over() bool {
	select {
	case <-j.ended:
		return true
	default:
		return false
	}
}

// launch starts a training of a study in the background. It is interrupted after what
// is left of the budget, shared among all that run, and killed when it does not end.
func (s *Server) launch(study string, most time.Duration, args ...string) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := s.running()
	if slices.Contains(running, study) {
		return nil, fmt.Errorf("study %s is running", study)
	}
	if len(running) >= s.Jobs {
		return nil, fmt.Errorf("%d of at most %d trainings are running (%s); stop one or wait", len(running), s.Jobs, strings.Join(running, ", "))
	}
	free := s.left()
	for _, name := range running { // each may still take all that it was given
		free -= time.Until(s.jobs[name].began.Add(s.jobs[name].limit))
	}
	if most == 0 || most > free {
		most = free
	}
	if most < time.Second {
		return nil, fmt.Errorf("the budget of %v is used up", s.Budget)
	}
	ctx, stop := context.WithTimeout(context.Background(), most)
	errs := &tail{}
	cmd := exec.CommandContext(ctx, s.Program, slices.Concat(args, []string{"--json"}, s.Args)...) //nolint:gosec // it is this program
	cmd.Stderr = errs
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	j := &job{study: study, cmd: cmd, began: time.Now(), limit: most, stop: stop, ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		stop()
		return nil, err
	}
	s.jobs[study] = j
	go func() {
		err := cmd.Wait()
		stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.spent += time.Since(j.began)
		if err != nil {
			j.err = errs.reason(err)
		}
		close(j.ended)
	}()
	return j, nil
}

// close interrupts all trainings and waits for them.
func (s *Server) close() {
	s.mu.Lock()
	jobs := slices.Collect(maps.Values(s.jobs))
	s.mu.Unlock()
	for _, j := range jobs {
		j.stop()
	}
	for _, j := range jobs {
		<-j.ended
	}
}
