package command

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/fetch"
	"github.com/fedfast/fedfast/internal/sys/filelock"
	"github.com/fedfast/fedfast/internal/sys/memory"
	"github.com/fedfast/fedfast/internal/sys/regular"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/tuners/host"
)

func newTunerInstall(a *app) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "install DIR|WHEEL|PROGRAM",
		Short: "Install a tuner, such as one that someone else wrote",
		Args:  cobra.ExactArgs(1),
		RunE:  a.work(func(cmd *cobra.Command, args []string) error { return a.installTuner(cmd.Context(), args[0], force) }),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace an installed tuner of the same name, or hide a built-in one")
	return cmd
}

// installTuner puts a tuner that describes itself into a folder of its own where users' tuners are,
// and says how to use and remove it.
func (a *app) installTuner(ctx context.Context, source string, force bool) (err error) {
	paths, err := a.paths()
	if err != nil {
		return err
	}
	if err := cmp.Or(wholefile.Folder(paths.User), endKilled(paths.User)); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(paths.User, ".install-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endInstall(temp)) }()
	lock, err := os.Create(filepath.Join(temp, "lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if free, _ := filelock.Try(lock); free { // where there are no locks, nobody may tell that it was killed
		if _, err := fmt.Fprintln(lock, os.Getpid()); err != nil {
			return err
		}
	}
	fresh := filepath.Join(temp, "new")
	if err := stageTuner(ctx, source, fresh); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	found := host.List(ctx, host.Paths{Dirs: []string{fresh}}, host.Options{Logger: a.newLog()})
	if len(found) != 1 {
		return fmt.Errorf("%s: contains %d programs named %sNAME, must be one", source, len(found), host.Prefix)
	}
	e := found[0]
	if e.Skipped != "" {
		return fmt.Errorf("%s: %s", source, e.Skipped)
	}
	to := filepath.Join(paths.User, filepath.Base(e.Path))
	if there, err := host.Find(e.Name, paths); err == nil && !force {
		return usageError{fmt.Errorf("tuner %s exists already; --force installs this one in its place", there)}
	}
	if err := os.Rename(to, filepath.Join(temp, filepath.Base(to))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, to); err != nil {
		return err
	}
	if err := wholefile.SyncFolder(paths.User); err != nil {
		return err
	}
	if e.Path = filepath.Join(to, filepath.Base(to)); a.json {
		return a.printJSON(tunerEntryOf(e))
	}
	flag := map[bool]string{true: "--tuner", false: "--client-tuner"}[e.Description.Trials]
	_, err = fmt.Fprintf(a.out, "installed %s %s in %s\nSHA-256 %s\n\n"+
		"  fedfast tuner check %[1]s\n  fedfast tune %[5]s %[1]s\n  fedfast tuner remove %[1]s\n",
		e.Name, e.Description.Version, to, e.SHA256, flag)
	return err
}

// endInstall puts back a tuner that was moved into the folder of an installation and not replaced, and removes the
// folder.
func endInstall(temp string) error {
	old, err := fs.Glob(os.DirFS(temp), host.Prefix+"*")
	for _, name := range old {
		to := filepath.Join(filepath.Dir(temp), name)
		if _, there := os.Lstat(to); errors.Is(there, fs.ErrNotExist) {
			err = errors.Join(err, os.Rename(filepath.Join(temp, name), to))
		}
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(temp)
}

// endKilled ends installations of processes that are gone: they have written into their locks, and do not hold them.
func endKilled(user string) error {
	locks, err := fs.Glob(os.DirFS(user), ".install-*/lock")
	for _, name := range locks {
		lock, gone := os.OpenFile(filepath.Join(user, name), os.O_RDWR, 0)
		if gone != nil { // it ended in between
			continue
		}
		free, _ := filelock.Try(lock)
		info, failed := lock.Stat()
		if err = errors.Join(err, failed, lock.Close()); free && failed == nil && info.Size() > 0 {
			err = errors.Join(err, endInstall(filepath.Join(user, filepath.Dir(name))))
		}
	}
	return err
}

// stageTuner puts the files of a tuner into a new folder.
func stageTuner(ctx context.Context, source, dir string) error {
	info, err := os.Stat(source)
	_, noModule := os.Stat(filepath.Join(source, "go.mod"))
	switch {
	case err != nil:
		return regular.Cause(err)
	case strings.HasSuffix(source, ".whl"):
		return stageWheel(ctx, source, dir)
	case !info.IsDir():
		return copyTuner(dir, filepath.Dir(source), filepath.Base(source))
	case noModule != nil:
		return copyTuner(dir, source, ".")
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), ".")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}

// copyTuner copies a file of a folder, or what a tuner may load of the whole folder, to a new one.
func copyTuner(to, from, what string) error {
	left, tree := wholefile.MostRead, os.DirFS(from)
	return fs.WalkDir(tree, what, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return cmp.Or(err, host.Loadable(tree, name))
		}
		content, err := wholefile.Read(filepath.Join(from, name))
		if left -= len(content) + 4096; left < 0 {
			err = fmt.Errorf("more than %s, or too many files", memory.Size(wholefile.MostRead))
		}
		path := filepath.Join(to, name)
		if err = cmp.Or(err, wholefile.Folder(filepath.Dir(path))); err != nil {
			return err
		}
		return wholefile.Write(path, content, 0o755) // a program that was sent may have lost its permission
	})
}

// entryPoint is the line of a wheel that names a tuner's program, and a function of a module.
var entryPoint = regexp.MustCompile(`(?m)^(` + host.Prefix + `[\w.-]+) *= *([\w.]+) *: *(\w+)`)

// starter is the program of a tuner from a wheel.
//
//go:embed tunerinstall.py
var starter string

// stageWheel unpacks a wheel, and writes the program that its entry points name.
func stageWheel(ctx context.Context, source, dir string) error {
	if err := fetch.Unpack(ctx, source, dir, source); err != nil {
		return err
	}
	var text []byte
	lists, err := fs.Glob(os.DirFS(dir), "*.dist-info/entry_points.txt")
	if len(lists) > 0 {
		text, err = wholefile.Read(filepath.Join(dir, lists[0]))
	}
	points := entryPoint.FindAllSubmatch(text, -1)
	if err != nil || len(points) != 1 {
		return errors.Join(err, fmt.Errorf("entry points name %d programs %sNAME, must be one", len(points), host.Prefix))
	}
	program := fmt.Appendf(nil, starter, points[0][2], points[0][3])
	return wholefile.Write(filepath.Join(dir, string(points[0][1])), program, 0o755)
}

func newTunerRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an installed tuner",
		Args:  cobra.ExactArgs(1),
		RunE: a.work(func(_ *cobra.Command, args []string) error {
			paths, err := a.paths()
			if err != nil {
				return err
			}
			ref, err := host.Find(args[0], host.Paths{Dirs: []string{paths.User}})
			if err != nil {
				return usageError{err}
			}
			dir := filepath.Join(paths.User, filepath.Base(ref.Path))
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, "removed "+dir)
			return err
		}),
	}
}
