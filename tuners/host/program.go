package host

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/tuners"
)

// cannotRun says why the system did not start a program: what its file is, where that
// is known, and what would be right.
func cannotRun(path string, err error) error {
	if why := unfit(path); why != "" {
		return fmt.Errorf("cannot be started: %s %s", path, why)
	}
	return fmt.Errorf("cannot be started: %w", err)
}

// unfit says what is wrong with the file of a program on this machine, as far as its
// beginning tells, and what would be right; "" when nothing is.
func unfit(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	head := make([]byte, 256)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return ""
	}
	switch head = head[:n]; {
	case n == 0:
		return "is empty"
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf#!")):
		return "begins with a byte order mark, which hides its #! line; save it as UTF-8 without one"
	case bytes.HasPrefix(head, []byte("#!")):
		return unfitScript(head)
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return unfitELF(f)
	case bytes.HasPrefix(head, []byte("MZ")):
		return otherSystem("windows")
	case machO(head):
		return otherSystem("darwin")
	case bytes.IndexByte(head, 0) < 0:
		return "is a script without an interpreter; its first line must be like #!/usr/bin/env python3"
	}
	return "is not a program for " + platform
}

// platform is what programs must be built for.
const platform = runtime.GOOS + "/" + runtime.GOARCH

// otherSystem tells of a program for a system, unless it is this one.
func otherSystem(system string) string {
	if system == runtime.GOOS {
		return ""
	}
	return builtFor(system)
}

func builtFor(what string) string {
	return fmt.Sprintf("is built for %s, this machine is %s; build it for that", what, platform)
}

// machO says whether a file begins as programs of macOS do.
func machO(head []byte) bool {
	magics := []string{"\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"}
	return slices.ContainsFunc(magics, func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) })
}

// unfitScript tells of an interpreter that is not there.
func unfitScript(head []byte) string {
	line, _, _ := strings.Cut(string(head[2:]), "\n")
	if strings.HasSuffix(line, "\r") {
		return "has Windows line endings, which break its #! line; save it with Unix line endings"
	}
	line = strings.TrimSpace(line)
	name, _, _ := strings.Cut(line, " ")
	if name == "" {
		return "has no interpreter after #!; its first line must be like #!/usr/bin/env python3"
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("needs the interpreter %q of its first line, which does not exist; install it or change the line", name)
	}
	return ""
}

// goarch are Go's names of processors, by those of ELF.
var goarch = map[elf.Machine]string{
	elf.EM_386: "386", elf.EM_ARM: "arm", elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_RISCV: "riscv64",
	elf.EM_S390: "s390x", elf.EM_LOONGARCH: "loong64",
}

// unfitELF tells of another processor or system, or of a loader that is not there.
func unfitELF(r io.ReaderAt) string {
	f, err := elf.NewFile(r)
	if err != nil {
		return "is a damaged executable (" + err.Error() + "); build or copy it again"
	}
	arch := goarch[f.Machine]
	arch = cmp.Or(arch, f.Machine.String())
	if arch != runtime.GOARCH || runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return builtFor("linux/" + arch)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		loader, err := io.ReadAll(p.Open())
		name := strings.TrimRight(string(loader), "\x00")
		if _, missing := os.Stat(name); err == nil && errors.Is(missing, fs.ErrNotExist) {
			return fmt.Sprintf("needs the loader %q, which does not exist on this machine; link it statically (Go: CGO_ENABLED=0)", name)
		}
	}
	return ""
}

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
