package host

import (
	"runtime"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/tuners"
)

// PassEnv is the environment variable that names further ones, separated by commas,
// which tuners get besides those of the list here.
const PassEnv = "FEDFAST_TUNER_ENV"

// The variables of this process that a tuner gets: where programs, libraries and
// files are, language and time zone, how runtimes behave, and fedfast's own. Tokens
// and keys of other services stay here.
var (
	passed = []string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
		"VIRTUAL_ENV", "CONDA_PREFIX", "JAVA_HOME", "JULIA_DEPOT_PATH", "R_HOME", "R_LIBS", "R_LIBS_USER", "NODE_PATH",
		"GOCOVERDIR", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK",
		// Windows does little without these.
		"APPDATA", "COMSPEC", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT",
		"TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
	}
	passedBeginnings = []string{"LC_", "PYTHON", "FEDFAST_"}
	passedEnds       = []string{"_NUM_THREADS"} // of OMP, OpenBLAS, MKL and others
)

// environment returns what a tuner gets of the environment env.
func environment(env []string) []string {
	var more []string
	for _, item := range env {
		if names, ok := strings.CutPrefix(item, PassEnv+"="); ok {
			more = strings.FieldsFunc(names, func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	return slices.DeleteFunc(slices.Clone(env), func(item string) bool {
		name, _, _ := strings.Cut(item, "=")
		if runtime.GOOS == "windows" { // where the case of names does not count
			name = strings.ToUpper(name)
		}
		if name == tuners.DebugEnv { // it would serve without this host
			return true
		}
		return !slices.Contains(passed, name) && !slices.Contains(more, name) &&
			!slices.ContainsFunc(passedBeginnings, func(s string) bool { return strings.HasPrefix(name, s) }) &&
			!slices.ContainsFunc(passedEnds, func(s string) bool { return strings.HasSuffix(name, s) })
	})
}
