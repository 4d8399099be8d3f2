package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/kernels"
)

// version says what this program is.
type version struct {
	Version  string   `json:"version"`
	Revision string   `json:"revision,omitempty"`
	Modified bool     `json:"modified,omitempty"`
	Go       string   `json:"go"`
	OS       string   `json:"os"`
	Arch     string   `json:"arch"`
	Level    string   `json:"level"`
	Levels   []string `json:"levels"`
}

// thisVersion reads what the linker knows.
func thisVersion() version {
	v := version{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Level: kernels.Current().String()}
	for _, l := range kernels.Supported() {
		v.Levels = append(v.Levels, l.String())
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
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
func (v version) String() string {
	return fmt.Sprintf("fedfast %s %s %s/%s, level %s of %s", v.Version, v.Go, v.OS, v.Arch, v.Level, strings.Join(v.Levels, " "))
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which version this is and what this machine can run",
		Args:  cobra.NoArgs,
		RunE: a.work(func(*cobra.Command, []string) error {
			v := thisVersion()
			if a.json {
				return a.printJSON(v)
			}
			_, err := fmt.Fprintln(a.out, v)
			return err
		}),
	}
}
