package bench

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"text/tabwriter"

	"github.com/fedfast/fedfast/kernels"
	"github.com/klauspost/cpuid/v2"
)

// Report is what one run measured.
type Report struct {
	Machine    Machine  `json:"machine"`
	PeakGFLOPS float64  `json:"peak_gflops"` // one thread, registers only, at the level of the run; median
	Results    []Result `json:"results"`
}

// Machine is where a report was made. Sizes are in bytes, 0 where the processor does not tell.
type Machine struct {
	OS        string   `json:"os"`
	Arch      string   `json:"arch"`
	CPU       string   `json:"cpu"`
	Cores     int      `json:"cores"`  // that Go uses
	Level     string   `json:"level"`  // in use
	Levels    []string `json:"levels"` // supported
	GoVersion string   `json:"go"`
	L1D       int      `json:"l1d"`
	L2        int      `json:"l2"`
	L3        int      `json:"l3"`
}

// Result is one measured row.
type Result struct {
	Suite            string  `json:"suite"`
	Name             string  `json:"name"`
	Level            string  `json:"level"`
	Threads          int     `json:"threads"`
	Batch            int     `json:"batch"`
	Shape            string  `json:"shape"`
	GFLOPS           float64 `json:"gflops"`             // 0 where operations are not counted
	PeakFraction     float64 `json:"peak_fraction"`      // of the peak measured between the samples of this row
	SamplesPerSecond float64 `json:"samples_per_second"` // samples of a model, rows of a product, elements of a vector
	Spread           float64 `json:"spread"`             // 10th to 90th percentile of the times over their median
}

func machine() Machine {
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuid.CPU.BrandName, Cores: runtime.GOMAXPROCS(0),
		Level: kernels.Current().String(), GoVersion: runtime.Version(),
		L1D: max(0, cpuid.CPU.Cache.L1D), L2: max(0, cpuid.CPU.Cache.L2), L3: max(0, cpuid.CPU.Cache.L3),
	}
	for _, l := range kernels.Supported() {
		m.Levels = append(m.Levels, l.String())
	}
	return m
}

// WriteTable writes the report for people: the machine, the peak and a line per row.
func (r *Report) WriteTable(w io.Writer) error {
	m := r.Machine
	if _, err := fmt.Fprintf(w, "%s, %d cores, %s/%s, %s, level %s; peak of one thread %.1f GFLOP/s\n\n",
		m.CPU, m.Cores, m.OS, m.Arch, m.GoVersion, m.Level, r.PeakGFLOPS); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(tw, "suite\tname\tshape\tbatch\tGFLOP/s\tof peak\tsamples/s\tspread\t")
	for _, x := range r.Results {
		gflops, fraction := "", ""
		if x.GFLOPS > 0 {
			gflops, fraction = fmt.Sprintf("%.1f", x.GFLOPS), fmt.Sprintf("%.1f %%", 100*x.PeakFraction)
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%.0f %%\t\n",
			x.Suite, x.Name, x.Shape, x.Batch, gflops, fraction, rate(x.SamplesPerSecond), 100*x.Spread)
	}
	return tw.Flush() // tells of w's errors
}

// rate writes x with three or more significant digits and a thousand, million or billion as k, M or G.
func rate(x float64) string {
	for _, unit := range []string{"", "k", "M"} {
		if x < 99_950 {
			return fmt.Sprintf("%.*f%s", max(0, 2-int(math.Log10(max(x, 1)))), x, unit)
		}
		x /= 1000
	}
	return fmt.Sprintf("%.0fG", x)
}
