package memory

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// system returns the least of what the machine, the control groups and the limit
// of the address space leave.
func system() int64 {
	free := int64(math.MaxInt64)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if kB, ok := field(text, "MemAvailable:"); ok {
			free = kB << 10
		}
	}
	if most, limited := limits(); limited {
		free = min(free, most)
	}
	return free
}

// Peak returns the most memory that the process has had, 0 where it is not known.
func Peak() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	kB, _ := field(text, "VmHWM:")
	return kB << 10
}

// limits returns what the control groups and the limit of the address space leave,
// if there is any.
func limits() (free int64, limited bool) {
	free = math.MaxInt64
	if text, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		free = min(free, groups("/sys/fs/cgroup", string(text)))
	}
	var space unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &space); err == nil && space.Cur < math.MaxInt64 {
		if text, err := os.ReadFile("/proc/self/statm"); err == nil {
			pages, _, _ := strings.Cut(string(text), " ")
			if n, err := strconv.ParseInt(pages, 10, 64); err == nil {
				free = min(free, int64(space.Cur)-n*int64(os.Getpagesize())+idle()-spare)
			}
		}
	}
	return free, free < math.MaxInt64
}

// idle returns the bytes of the address space that the garbage collector holds and
// does not use.
func idle() int64 {
	of := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(of)
	return int64(of[0].Value.Uint64() + of[1].Value.Uint64())
}

// groups returns the least of what the control groups of a process leave, those of
// /proc/self/cgroup and the ones above them, of version 2 and of version 1.
func groups(root, of string) int64 {
	free := int64(math.MaxInt64)
	for line := range strings.Lines(of) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, limit, usage, cached := root, "memory.max", "memory.current", "inactive_file"
		if parts[1] == "memory" {
			base, limit, usage, cached = filepath.Join(root, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
		} else if parts[1] != "" {
			continue
		}
		for dir := filepath.Join("/", parts[2]); ; dir = filepath.Dir(dir) {
			group := filepath.Join(base, dir)
			most, limited := number(filepath.Join(group, limit))
			used, known := number(filepath.Join(group, usage))
			if limited && known {
				if text, err := os.ReadFile(filepath.Join(group, "memory.stat")); err == nil {
					n, _ := field(text, cached) // pages of files that go when there is need
					used -= n
				}
				free = min(free, most-used)
			}
			if dir == "/" {
				break
			}
		}
	}
	return free
}

// number reads a file that holds one number; "max" means no limit.
func number(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// field returns the number after a name at the start of a line.
func field(text []byte, name string) (int64, bool) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if f := strings.Fields(lines.Text()); len(f) > 1 && f[0] == name {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
