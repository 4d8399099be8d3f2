package bench

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// scripts are the Python side, see torch/serve.py.
//
//go:embed torch/*.py
var scripts embed.FS

// TorchInfo says which PyTorch was compared with.
type TorchInfo struct {
	Version string `json:"version"`
	Python  string `json:"python"`
	BLAS    string `json:"blas"` // the library that multiplies matrices
}

// Torch runs PyTorch in processes of its own. It belongs to one goroutine.
type Torch struct {
	python string
	dir    string // of the scripts and of the jobs' files
	info   TorchInfo
	// servers by their number of threads, and one whose own processes run rounds;
	// started when first needed.
	servers map[string]*torchServer
}

// StartTorch finds a Python that can import PyTorch: the one given, or else the one
// of FEDFAST_PYTHON, or else python3 of the search path or /usr/bin/python3. The
// error is one line that says what each of them lacks.
func StartTorch(ctx context.Context, python string) (*Torch, error) {
	if python == "" {
		python = os.Getenv("FEDFAST_PYTHON")
	}
	candidates := []string{python}
	if python == "" {
		candidates = []string{"python3", "/usr/bin/python3"}
	}
	dir, err := os.MkdirTemp("", "fedfast-torch-")
	if err != nil {
		return nil, err
	}
	t := &Torch{dir: dir, servers: map[string]*torchServer{}}
	if err := t.unpack(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	var lacks []string
	for _, t.python = range candidates {
		s, err := t.server(ctx, "1 thread", 1)
		if err == nil {
			t.info = s.info
			return t, nil
		}
		lacks = append(lacks, fmt.Sprintf("%s: %v", t.python, err))
	}
	return nil, errors.Join(fmt.Errorf("no Python here runs PyTorch (%s); install Debian's python3-torch and libopenblas0, or name a Python with --python or FEDFAST_PYTHON", strings.Join(lacks, "; ")), t.Close())
}

// Info says what runs.
func (t *Torch) Info() TorchInfo { return t.info }

// Close ends the processes and removes their files.
func (t *Torch) Close() error {
	for _, s := range t.servers {
		s.close()
	}
	return os.RemoveAll(t.dir)
}

func (t *Torch) unpack() error {
	return fs.WalkDir(scripts, "torch", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := scripts.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(t.dir, filepath.Base(path)), text, 0o600)
	})
}

// server returns the running server of a name, starting it with so many threads.
func (t *Torch) server(ctx context.Context, name string, threads int) (*torchServer, error) {
	if s := t.servers[name]; s != nil {
		return s, nil
	}
	s, err := t.start(ctx, threads)
	if err != nil {
		return nil, err
	}
	t.servers[name] = s
	return s, nil
}

// torchServer is one Python process that answers jobs.
type torchServer struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	info  TorchInfo
}

// torchReply is what the server answers.
type torchReply struct {
	Error  string    `json:"error"`
	Torch  string    `json:"torch"`
	Python string    `json:"python"`
	BLAS   string    `json:"blas"`
	Loss   float64   `json:"loss"`
	Times  []float64 `json:"times"`
}

func (t *Torch) start(ctx context.Context, threads int) (*torchServer, error) {
	count := strconv.Itoa(threads)
	s := &torchServer{cmd: exec.CommandContext(ctx, t.python, filepath.Join(t.dir, "serve.py"), count)}
	// Threads that wait must not spin: with two threads PyTorch's and OpenBLAS's
	// pools hold each other's processors, and a step of an LSTM takes four times as
	// long.
	s.cmd.Env = append(os.Environ(), "OMP_NUM_THREADS="+count, "OPENBLAS_NUM_THREADS="+count, "MKL_NUM_THREADS="+count, "OMP_WAIT_POLICY=passive", "PYTHONDONTWRITEBYTECODE=1")
	s.cmd.WaitDelay = time.Second
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.lines = bufio.NewReader(out)
	hello, err := s.reply()
	if err != nil {
		s.close()
		return nil, err
	}
	s.info = TorchInfo{Version: hello.Torch, Python: hello.Python, BLAS: hello.BLAS}
	return s, nil
}

// call sends a job and waits for the answer.
func (s *torchServer) call(job map[string]any) (torchReply, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return torchReply{}, err
	}
	if _, err := s.in.Write(append(text, '\n')); err != nil {
		return torchReply{}, fmt.Errorf("PyTorch ended: %w", err)
	}
	return s.reply()
}

func (s *torchServer) reply() (torchReply, error) {
	var r torchReply
	line, err := s.lines.ReadString('\n')
	if err != nil {
		return r, fmt.Errorf("PyTorch gave no answer: %w", err)
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return r, fmt.Errorf("PyTorch answered %q", strings.TrimSpace(line))
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// close ends the process; what it says of its end is of no interest.
func (s *torchServer) close() {
	_ = s.in.Close()
	_ = s.cmd.Wait()
}
