package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"

	"github.com/fedfast/fedfast/kernels"
)

// Report is what one run measured; its JSON form is the form of `bench --json`.
type Report struct {
	Date       string     `json:"date"` // of the start, RFC 3339
	Machine    Machine    `json:"machine"`
	Revision   string     `json:"revision,omitempty"` // of the source that the program was built from, "+" when it was changed
	Torch      TorchInfos `json:"torch,omitempty"`    // what was compared with
	PeakGFLOPS float64    `json:"peak_gflops"`        // one thread, registers only, at the level of the run; median
	Results    []Result   `json:"results"`
}

// Machine is where a report was made. Sizes are in bytes, 0 where the processor
// does not tell.
type Machine struct {
	OS        string   `json:"os"`
	Arch      string   `json:"arch"`
	CPU       string   `json:"cpu"`
	Cores     int      `json:"cores"`          // that Go uses
	Level     string   `json:"level"`          // in use
	Levels    []string `json:"levels"`         // supported
	Load      string   `json:"load,omitempty"` // load averages over 1, 5 and 15 minutes before the run (Linux)
	GoVersion string   `json:"go"`
	L1D       int      `json:"l1d"`
	L2        int      `json:"l2"`
	L3        int      `json:"l3"`
}

// Result is one measured row.
type Result struct {
	Suite            string  `json:"suite"`
	Name             string  `json:"name"` // of a kernel, a call, or exactly the model's
	Level            string  `json:"level"`
	Threads          int     `json:"threads"` // workers of a round, else 1
	Batch            int     `json:"batch"`
	Shape            string  `json:"shape"`                       // of a product, or a model's input
	Optimizer        string  `json:"optimizer,omitempty"`         // of a training step: "sgd" or "momentum" (0.9)
	Precision        string  `json:"precision,omitempty"`         // of the factors of products, "fp32" or "bf16"; empty in older reports, and where there are none
	Seconds          float64 `json:"seconds"`                     // of one repetition, median
	GFLOPS           float64 `json:"gflops"`                      // 0 where operations are not counted
	PeakGFLOPS       float64 `json:"peak_gflops,omitempty"`       // of products in its precision, measured between the samples of this row, of all its threads
	PeakFraction     float64 `json:"peak_fraction"`               // gflops / peak_gflops: for models, the share of the dense limit
	Bound            string  `json:"bound,omitempty"`             // what that time is mostly of: "peak" or "memory"
	RooflineFraction float64 `json:"roofline_fraction,omitempty"` // the least time that arithmetic at the peak and moving each value once a pass leave, over the row's; of a network layer by layer
	SamplesPerSecond float64 `json:"samples_per_second"`          // samples of a model, rows of a product, elements of a vector
	// Loss is the mean of a network's batch with the weights of seed 1; in the suites nn and
	// layers after three steps on it, without dropout, at a rate of 0.003.
	Loss   float64 `json:"loss,omitempty"`
	Spread float64 `json:"spread"`                   // 10th to 90th percentile of the times over their median
	Gain   float64 `json:"ratio_to_fp32,omitempty"`  // of a row in bf16: samples per second over those of the same row in fp32
	Ratio  float64 `json:"ratio_to_torch,omitempty"` // samples per second over those of the fastest entry of Torch, of whatever version, precision and form
	Torch  []Rival `json:"torch,omitempty"`          // PyTorch, measured in turns with this row
	Round  *Round  `json:"round,omitempty"`          // of suites fl and scale
}

// Rival is a PyTorch doing the same as a row.
type Rival struct {
	Version          string  `json:"version,omitempty"`   // as in the report's list
	Precision        string  `json:"precision,omitempty"` // "fp32", or "bf16" under autocast
	Threads          int     `json:"threads"`             // of each process
	Processes        int     `json:"processes"`           // in parallel
	Compiled         bool    `json:"compiled,omitempty"`  // by torch.compile
	Seconds          float64 `json:"seconds"`
	SamplesPerSecond float64 `json:"samples_per_second"`
	Loss             float64 `json:"loss,omitempty"` // as the row's, from its weights and batch
	Spread           float64 `json:"spread"`
	Ratio            float64 `json:"ratio"`           // the row's samples per second over these
	Error            string  `json:"error,omitempty"` // why it was not measured; then the figures are zero
}

// compare adds what PyTorch did.
func (r *Result) compare(rivals ...Rival) {
	for _, v := range rivals {
		if v.Error != "" {
			r.Torch = append(r.Torch, v)
			continue
		}
		v.Ratio = r.SamplesPerSecond / v.SamplesPerSecond
		r.Torch = append(r.Torch, v)
		if r.Ratio == 0 || v.Ratio < r.Ratio {
			r.Ratio = v.Ratio
		}
	}
}

// ReadReport reads the JSON form of a report.
func ReadReport(path string) (*Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s is not a report of fedfast bench: %w", path, err)
	}
	if len(r.Results) == 0 {
		return nil, fmt.Errorf("%s is not a report of fedfast bench: it contains no results", path)
	}
	return r, nil
}

func newReport(cfg Config) *Report {
	r := &Report{Date: time.Now().UTC().Format(time.RFC3339), Machine: machine(), Revision: revision(), Results: []Result{}}
	for _, t := range cfg.Torch {
		r.Torch = append(r.Torch, t.Info())
	}
	return r
}

func machine() Machine {
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: kernels.Processor(), Cores: runtime.GOMAXPROCS(0),
		Level: kernels.Current().String(), GoVersion: runtime.Version(),
		L1D: max(0, cpuid.CPU.Cache.L1D), L2: max(0, cpuid.CPU.Cache.L2), L3: max(0, cpuid.CPU.Cache.L3),
	}
	for _, l := range kernels.Supported() {
		m.Levels = append(m.Levels, l.String())
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		fields := strings.Fields(string(text))
		m.Load = strings.Join(fields[:min(3, len(fields))], " ")
	}
	return m
}

// revision returns the revision that the program was built from, as far as the
// linker knows.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	setting := func(key string) string {
		i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key })
		if i < 0 {
			return ""
		}
		return info.Settings[i].Value
	}
	rev := setting("vcs.revision")
	if setting("vcs.modified") == "true" {
		rev += "+"
	}
	return rev
}

// Join makes one report of several that the same machine wrote, each of other rows or
// against another PyTorch. A row is compared with all that any report measured of the
// same, in whatever precision.
func Join(reports ...*Report) (*Report, error) {
	all := *reports[0]
	all.Results, all.Torch = nil, nil
	peaks := []float64{}
	for _, r := range reports {
		a, b := all.Machine, r.Machine
		if a.CPU != b.CPU || a.Cores != b.Cores || a.Level != b.Level || a.Arch != b.Arch {
			return nil, fmt.Errorf("bench: reports of different machines: %s with %d cores at level %s, and %s with %d at %s", a.CPU, a.Cores, a.Level, b.CPU, b.Cores, b.Level)
		}
		for _, t := range r.Torch {
			if !slices.ContainsFunc(all.Torch, func(have TorchInfo) bool { return have.Version == t.Version }) {
				all.Torch = append(all.Torch, t)
			}
		}
		peaks = append(peaks, r.PeakGFLOPS)
		all.Results = append(all.Results, r.Results...)
	}
	all.PeakGFLOPS = median(peaks)
	for i := range all.Results {
		x := &all.Results[i]
		own := x.Torch
		x.Torch, x.Ratio = nil, 0
		x.compare(own...)
		for _, r := range reports {
			for _, y := range r.Results {
				if x.alike(&y) {
					x.compareMore(y.Torch)
				}
			}
		}
	}
	gains(all.Results)
	return &all, nil
}

// alike says that two rows measure the same, in whatever precision.
func (r *Result) alike(x *Result) bool {
	return r.Suite == x.Suite && r.Name == x.Name && r.Shape == x.Shape && r.Batch == x.Batch && r.Optimizer == x.Optimizer && r.Threads == x.Threads
}

// compareMore adds those rivals that the row lacks.
func (r *Result) compareMore(rivals []Rival) {
	for _, v := range rivals {
		if !slices.ContainsFunc(r.Torch, func(w Rival) bool {
			return w.Version == v.Version && w.Precision == v.Precision && w.Compiled == v.Compiled &&
				w.Threads == v.Threads && w.Processes == v.Processes
		}) {
			r.compare(v)
		}
	}
}
