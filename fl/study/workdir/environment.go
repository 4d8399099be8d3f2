package workdir

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tuners/host"
)

// Version describes which fedfast this is and what this machine can run.
type Version struct {
	Version  string   `json:"version"`
	Revision string   `json:"revision,omitempty"`
	Modified bool     `json:"modified,omitempty"`
	Go       string   `json:"go"`
	OS       string   `json:"os"`
	Arch     string   `json:"arch"`
	Level    string   `json:"level"`
	Levels   []string `json:"levels"`
}

// module is what fedfast is called in the modules of a program.
const module = "github.com/fedfast/fedfast"

// ThisVersion reads what the linker knows. Revision and Modified are of the
// program fedfast only, not of others that use its packages.
func ThisVersion() Version {
	v := Version{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Level: kernels.Current().String()}
	for _, l := range kernels.Supported() {
		v.Levels = append(v.Levels, l.String())
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" && m.Version != "(devel)" {
			v.Version = m.Version
		}
	}
	if info.Main.Path != module {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// String writes what it is in a line.
func (v Version) String() string {
	return fmt.Sprintf("fedfast %s %s %s/%s, level %s of %s", v.Version, v.Go, v.OS, v.Arch, v.Level, strings.Join(v.Levels, " "))
}

// Environment is what EnvFile and the record tell about where a study ran.
type Environment struct {
	Version
	// Command is config.ModeTune or config.ModeRun.
	Command string `json:"command"`
	// Started is when the process began to work on the study, as RFC 3339 in UTC.
	Started string `json:"started"`
	CPU     string `json:"cpu"`
	Workers int    `json:"workers"`
	// Tuners are the programs of the tuners.
	Tuners []host.Pin `json:"tuners,omitempty"`
	// Baseline is about how many random configurations the study will be compared with.
	Baseline int `json:"baseline,omitempty"`
	// Evaluations is how much work the evaluations at the end are, in multiples of that of all rounds.
	Evaluations float64 `json:"evaluations,omitempty"`
	// Measure is what the errors of the study's models are, see result.Errors.
	Measure string `json:"error_measure,omitempty"`
	// Scaled is Study.Scaled.
	Scaled string `json:"scaled,omitempty"`
}

// environment describes this machine and process.
func environment(command string, workers int, used []host.Pin) Environment {
	e := Environment{
		Version: ThisVersion(), Command: command, Started: time.Now().UTC().Format(time.RFC3339), CPU: kernels.Processor(), Workers: workers, Tuners: used,
	}
	e.Workers = cmp.Or(e.Workers, runtime.GOMAXPROCS(0))
	return e
}
