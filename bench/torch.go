package bench

import (
	"bufio"
	"cmp"
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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fedfast/fedfast/nn"
)

// scripts are the Python side, see torch/serve.py.
//
//go:embed torch/*.py
var scripts embed.FS

// TorchInfo says which PyTorch was compared with.
type TorchInfo struct {
	Version string `json:"version"`
	Python  string `json:"python"`
	BLAS    string `json:"blas"` // the libraries that multiply matrices
	// BLASKernel is the processor that OpenBLAS chose its loops for; empty for
	// another library.
	BLASKernel string `json:"blas_kernel,omitempty"`
	OneDNN     string `json:"onednn,omitempty"`     // its version; empty without it
	Capability string `json:"capability,omitempty"` // of the processor, as PyTorch's own loops use it
	// Workaround says what it computes wrongly and how the networks go round it.
	Workaround string `json:"workaround,omitempty"`
	// Set are variables that its processes ran with, beside the numbers of threads.
	Set []string `json:"set,omitempty"`
	// Unset are the environment variables that were set and that its processes ran
	// without.
	Unset []string `json:"unset,omitempty"`
}

// TorchInfos are the PyTorches of a report.
type TorchInfos []TorchInfo

// UnmarshalJSON reads the list, or the one PyTorch of older reports.
func (t *TorchInfos) UnmarshalJSON(text []byte) error {
	var list []TorchInfo
	if err := json.Unmarshal(text, &list); err != nil {
		var one TorchInfo
		if json.Unmarshal(text, &one) != nil {
			return err
		}
		list = []TorchInfo{one}
	}
	*t = list
	return nil
}

// String says it in a line.
func (t TorchInfo) String() string {
	s := fmt.Sprintf("PyTorch %s, Python %s, BLAS %s", t.Version, t.Python, t.BLAS)
	if t.BLASKernel != "" {
		s += ", its kernel " + t.BLASKernel
	}
	if t.OneDNN != "" {
		s += ", oneDNN " + t.OneDNN
	}
	if t.Capability != "" {
		s += ", own loops " + t.Capability
	}
	if t.Workaround != "" {
		s += "; " + t.Workaround
	}
	if len(t.Set) > 0 {
		s += "; run with " + strings.Join(t.Set, " ")
	}
	if len(t.Unset) > 0 {
		s += "; without " + strings.Join(t.Unset, " and ")
	}
	return s
}

// Torch runs one PyTorch in processes of its own. It belongs to one goroutine.
type Torch struct {
	python string
	dir    string // of the scripts and of the jobs' files
	info   TorchInfo
	// servers by precision and number of threads, or of processes that run rounds;
	// started when first needed.
	servers map[string]*torchServer
}

// tuned are variables that bind OpenBLAS to a processor or its caches. Some machines
// set them for old builds that do not know them, and slow newer ones down.
var tuned = []string{"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}

// keeping makes glibc keep memory that was freed. By itself it gives large tensors
// back to the system and gets them as new pages in every step, so that an LSTM of
// PyTorch 2.6 trains at a quarter of its speed.
var keeping = []string{"MALLOC_TRIM_THRESHOLD_=1000000000", "MALLOC_MMAP_THRESHOLD_=1000000000", "MALLOC_TOP_PAD_=67108864"}

// untuned returns the environment without those variables, and which were set.
func untuned(environ []string) (rest, unset []string) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains(tuned, name) {
			unset = append(unset, entry)
		} else {
			rest = append(rest, entry)
		}
	}
	slices.Sort(unset)
	return rest, unset
}

// StartTorch finds a Python that can import PyTorch: the one given, or else the one
// of FEDFAST_PYTHON, or else python3 of the search path or /usr/bin/python3. The
// error is one line that says what each of them lacks.
func StartTorch(ctx context.Context, python string) (*Torch, error) {
	python = cmp.Or(python, os.Getenv("FEDFAST_PYTHON"))
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
		s, err := t.server(ctx, serverName(nn.FP32, 1), 1)
		if err == nil {
			t.info = s.info
			return t, nil
		}
		lacks = append(lacks, fmt.Sprintf("%s: %v", t.python, err))
	}
	return nil, errors.Join(fmt.Errorf("no Python with PyTorch found (%s); install python3-torch and libopenblas0 on "+
		"Debian, or choose an interpreter with --python or FEDFAST_PYTHON", strings.Join(lacks, "; ")), t.Close())
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

// serverName names a server of one process.
func serverName(p nn.Precision, threads int) string { return fmt.Sprintf("%s %d threads", p, threads) }

// server returns the server of a name, and starts it with the given number of threads
// if it is not running.
func (t *Torch) server(ctx context.Context, name string, threads int) (*torchServer, error) {
	if s := t.servers[name]; s != nil && !s.ended {
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
	ended bool // by itself: it crashed, or was killed
}

// torchReply is what the server answers.
type torchReply struct {
	Error  string    `json:"error"`
	Torch  string    `json:"torch"`
	Python string    `json:"python"`
	BLAS   string    `json:"blas"`
	Kernel string    `json:"blas_kernel"`
	OneDNN string    `json:"onednn"`
	Usage  string    `json:"capability"`
	Around string    `json:"workaround"`
	Loss   float64   `json:"loss"`
	Times  []float64 `json:"times"`
}

func (t *Torch) start(ctx context.Context, threads int) (*torchServer, error) {
	count := strconv.Itoa(threads)
	s := &torchServer{cmd: exec.CommandContext(ctx, t.python, filepath.Join(t.dir, "serve.py"), count)}
	// Threads that wait must not spin: with two threads PyTorch's and OpenBLAS's
	// pools hold each other's processors, and a step of an LSTM takes four times as
	// long.
	var unset []string
	s.cmd.Env, unset = untuned(os.Environ())
	s.cmd.Env = append(s.cmd.Env, "OMP_NUM_THREADS="+count, "OPENBLAS_NUM_THREADS="+count, "MKL_NUM_THREADS="+count, "OMP_WAIT_POLICY=passive", "PYTHONDONTWRITEBYTECODE=1")
	s.cmd.Env = append(s.cmd.Env, keeping...)
	s.cmd.Env = append(s.cmd.Env, "TORCHINDUCTOR_COMPILE_THREADS=1", "TORCHINDUCTOR_CACHE_DIR="+t.dir+"/compiled")
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
	s.info = TorchInfo{
		Version: hello.Torch, Python: hello.Python, BLAS: hello.BLAS, BLASKernel: hello.Kernel, OneDNN: hello.OneDNN, Capability: hello.Usage,
		Workaround: hello.Around, Set: keeping, Unset: unset,
	}
	return s, nil
}

// call sends a job and waits for the answer.
func (s *torchServer) call(job map[string]any) (torchReply, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return torchReply{}, err
	}
	if _, err := s.in.Write(append(text, '\n')); err != nil {
		return torchReply{}, s.end(err)
	}
	return s.reply()
}

func (s *torchServer) reply() (torchReply, error) {
	var r torchReply
	line, err := s.lines.ReadString('\n')
	if err != nil {
		return r, s.end(err)
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return r, fmt.Errorf("PyTorch printed %q", strings.TrimSpace(line))
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// end says how the process ended that can no longer be talked to.
func (s *torchServer) end(err error) error {
	s.close()
	s.ended = true
	if state := s.cmd.ProcessState; state != nil && !state.Success() {
		return fmt.Errorf("PyTorch exited: %s", state)
	}
	return fmt.Errorf("no output from PyTorch: %w", err)
}

// close ends the process; what it says of its end is of no interest.
func (s *torchServer) close() {
	if s.ended {
		return
	}
	_ = s.in.Close()
	_ = s.cmd.Wait()
}
