package models

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// torchPython is the first Python that can import torch, or empty.
var torchPython = sync.OnceValue(func() string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c",
			"import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))").Run() == nil {
			return python
		}
	}
	return ""
})

// findTorch returns a Python that can import torch, or skips the test.
func findTorch(t *testing.T) string {
	t.Helper()
	if torchPython() == "" {
		t.Skip("no python3 here can import torch; install Debian's python3-torch to compare with PyTorch")
	}
	return torchPython()
}

// torchPool holds processes of train_steps.py, which live as long as this one. What
// is nil in it is started when it is taken.
type torchPool chan *torchProcess

// torches are as many as train at once.
var torches = torchPool(make(chan *torchProcess, 2))

func TestMain(m *testing.M) {
	for range cap(torches) {
		torches <- nil
	}
	code := m.Run()
	for range cap(torches) {
		if p := <-torches; p != nil {
			if err := p.end(); err != nil {
				fmt.Fprintln(os.Stderr, err, p.stderr.String())
				code = 1
			}
		}
	}
	os.Exit(code)
}

type torchProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr strings.Builder
}

// end has the process end, which it does where its input ends.
func (p *torchProcess) end() error { return errors.Join(p.stdin.Close(), p.cmd.Wait()) }

func startTorch(python string) (*torchProcess, error) {
	p := &torchProcess{cmd: exec.Command(python, filepath.Join("testdata", "train_steps.py"))}
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdin, p.stdout, p.cmd.Stderr = stdin, bufio.NewReader(stdout), &p.stderr
	return p, p.cmd.Start()
}

// do has a process do one job, whose files it names, and returns the losses.
func (pool torchPool) do(python string, files []string) ([]float64, error) {
	p := <-pool
	var err error
	if p == nil {
		if p, err = startTorch(python); err != nil {
			pool <- nil
			return nil, err
		}
	}
	losses, err := p.do(files)
	if err != nil {
		err = fmt.Errorf("%s train_steps.py: %w\n%s", python, errors.Join(err, p.end()), p.stderr.String())
		p = nil
	}
	pool <- p
	return losses, err
}

func (p *torchProcess) do(files []string) (losses []float64, err error) {
	line, err := json.Marshal(files)
	if err != nil {
		return nil, err
	}
	if _, err := p.stdin.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	answer, err := p.stdout.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	return losses, json.Unmarshal(answer, &losses)
}
