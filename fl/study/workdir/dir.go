package workdir

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/finite"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/internal/sys/regular"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/safetensors"
)

// The files of a study.
const (
	ConfigFile  = "config.toml"
	EnvFile     = "env.json"
	MetricsFile = "metrics.jsonl"
	ResultFile  = "result.json"
	ModelFile   = "model.safetensors"
	// The last survivor and the model of the lowest score of a cohort, where they
	// are others than the returned one.
	SurvivorFile = "survivor.safetensors"
	LuckiestFile = "luckiest.safetensors"
)

// files are those that a study writes and that could be somebody else's.
var files = []string{ConfigFile, EnvFile, MetricsFile, ResultFile, ModelFile, SurvivorFile, LuckiestFile}

// dir is the directory of a study that this process works on.
type dir struct {
	path  string
	made  bool // by createDir
	begun bool // by createDir
	store *store.Store
	// stopped is the Err of the work's context, nil before begin.
	stopped func() error

	mu      sync.Mutex
	metrics *os.File      // nil before begin
	old     *bufio.Reader // lines of earlier processes that are yet to come again
	at      int64         // where the next line begins
	events  int
	kept    bool  // although there are no events
	err     error // the first of Event
}

// odd are the signs that a directory's name does not have.
var odd = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// Home is the folder of studies whose directory nobody names.
const Home = "studies"

// Default returns a directory below studies/ that does not exist yet, named
// after the day and the study. Another process may take it: see Claim.
func Default(now time.Time, name string) string {
	base := filepath.Join(Home, now.Format("2006-01-02")+"-"+odd.ReplaceAllString(name, "-"))
	path := base
	for n := 2; exists(path); n++ {
		path = fmt.Sprintf("%s-%d", base, n)
	}
	return path
}

// Claim makes the directory that Default names, so that no other process gets it.
func Claim(now time.Time, name string) (string, error) {
	for {
		if err := wholefile.Folder(Home); err != nil {
			return "", fmt.Errorf("study directory: %w", err)
		}
		path := Default(now, name)
		switch err := os.Mkdir(path, 0o755); {
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist): // another process may remove an empty Home
			return "", fmt.Errorf("study directory: %w", err)
		}
	}
}

// remove removes a directory that nothing is in, and Home when it was the only one there.
func remove(path string) error {
	err := os.Remove(path)
	if filepath.Dir(path) == Home {
		_ = os.Remove(Home) // unless other studies are there
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// openDir takes the lock of a directory that Holds a study.
// A directory in which another process works is a *store.BusyError.
func openDir(ctx context.Context, path string, notice func(string)) (*dir, error) {
	d := &dir{path: path}
	var err error
	if d.store, err = store.OpenAfter(ctx, path, func() error { return wholefile.Clear(path, files...) }, notice); err != nil {
		return nil, err
	}
	return d, nil
}

// createDir makes the directory of a new study, if need be, and takes its lock.
// What the study is, its configuration and environment, is written before anything
// else, so that from then on another process can begin it. A file that a study
// would overwrite is an error.
func createDir(ctx context.Context, path string, c *config.Config, env any, notice func(string)) (*dir, error) {
	text, err := config.Encode(c)
	if err != nil {
		return nil, err
	}
	d := &dir{path: path, made: !exists(path), begun: true}
	if err := free(path); err != nil && !Holds(path) { // with a study another process has just begun it
		return nil, err
	}
	d.store, err = store.OpenAfter(ctx, path, func() error {
		if err := free(path); err != nil {
			return err
		}
		return errors.Join(wholefile.Clear(path, files...), d.writeJSON(EnvFile, env), d.write(ConfigFile, text))
	}, notice)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// free returns an error when a directory without a study holds a file of the name
// of a study's, but for the environment of one that was never begun.
func free(path string) error {
	for _, name := range files {
		if !exists(filepath.Join(path, name)) || name == EnvFile && command(path) != "" {
			continue
		}
		return fmt.Errorf("--study %s: contains a %s but no study to resume (%s); use another directory or delete the file", path, name, store.File)
	}
	return nil
}

// begin opens the metrics. Events that earlier processes wrote are not written
// again. The result and the models of a study that goes on are deleted.
func (d *dir) begin(c *config.Config, env any, finished bool) error {
	for _, name := range []string{ResultFile, ModelFile, SurvivorFile, LuckiestFile} {
		if finished {
			break
		}
		if err := os.Remove(filepath.Join(d.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if !d.begun { // a file may be lost, or tell where the data was
		text, err := config.Encode(c)
		if err != nil {
			return err
		}
		if err := d.write(ConfigFile, text); err != nil {
			return err
		}
		if !exists(filepath.Join(d.path, EnvFile)) {
			if err := d.writeJSON(EnvFile, env); err != nil {
				return err
			}
		}
	}
	name := filepath.Join(d.path, MetricsFile)
	if err := regular.Check(name); err != nil {
		return err
	}
	var err error
	if d.metrics, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return fmt.Errorf("study directory: %w", err)
	}
	if d.store.Seq() > 0 {
		d.old = bufio.NewReader(io.NewSectionReader(d.metrics, 0, math.MaxInt64))
		return nil
	}
	return d.metrics.Truncate(0)
}

// Holds reports whether a directory holds a study, if only one that was about to
// begin.
func Holds(path string) bool {
	return store.Exists(path) || command(path) != "" && exists(filepath.Join(path, ConfigFile))
}

// Beginning returns what the files of a directory say of its study, beside the
// record: the command that began it and its configuration, both empty where they
// are lost.
func Beginning(path string) (mode, config string) {
	text, err := wholefile.Read(filepath.Join(path, ConfigFile))
	if mode = command(path); err != nil || mode == "" {
		return "", ""
	}
	return mode, string(text)
}

// command returns the command that began a study, as its environment tells it.
func command(path string) string {
	var env struct {
		Command string `json:"command"`
	}
	text, err := wholefile.Read(filepath.Join(path, EnvFile))
	if err != nil || json.Unmarshal(text, &env) != nil {
		return ""
	}
	return env.Command
}

// Event appends a line to the metrics, unless it stands there. The first error
// stands until Close.
func (d *dir) Event(e study.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events++
	line, err := finite.Marshal(e)
	if err == nil {
		err = d.line(append(line, '\n'))
	}
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("write %s: %w", MetricsFile, err)
	}
}

// line writes one line. From the first one on that an earlier process did not
// write just so, what it wrote is cut off.
func (d *dir) line(line []byte) error {
	if d.old != nil {
		was := make([]byte, len(line))
		if _, err := io.ReadFull(d.old, was); err == nil && bytes.Equal(was, line) {
			d.at += int64(len(line))
			return nil
		}
		d.old = nil
		if err := d.metrics.Truncate(d.at); err != nil {
			return err
		}
	}
	n, err := d.metrics.WriteAt(line, d.at)
	d.at += int64(n)
	return err
}

// complete reports whether the files of a finished study are there and whole: the
// returned model, the others that it saved, and the result that returned weights of
// a digest; a nil Dir is a study that has not begun.
func (d *dir) complete(digest string, others ...Other) bool {
	if d == nil || safetensors.Check(filepath.Join(d.path, ModelFile)) != nil {
		return false
	}
	for _, o := range others {
		if safetensors.Check(filepath.Join(d.path, o.File)) != nil {
			return false
		}
	}
	var r result.Result
	text, err := wholefile.Read(filepath.Join(d.path, ResultFile))
	return err == nil && json.Unmarshal(text, &r) == nil && r.WeightsSHA256 == digest
}

// finished returns the end of a study that holds all that is asked for: the
// recorded result. It returns nil when there is something left to do.
func (d *dir) finished(recorded *result.Result, baseline int) *result.Result {
	if !d.complete(recorded.WeightsSHA256, Others(recorded)...) {
		return nil
	}
	if have := recorded.Baseline; baseline > 0 && (have == nil || len(have.Trials) != baseline) {
		return nil
	}
	return recorded
}

// result writes the end of the study. What happened in it is on the disk before,
// since a study with a result is not gone through again.
func (d *dir) result(v any) error {
	if err := d.metrics.Sync(); err != nil {
		return fmt.Errorf("study directory: %w", err)
	}
	return d.writeJSON(ResultFile, v)
}

// Other is a model that a study did not return.
type Other struct {
	File  string
	Model *result.Chosen
}

// Others are the models of a result, each in a file of its own, that the study
// might have returned and that are other ones than the returned model.
func Others(r *result.Result) []Other {
	all := list.Where([]Other{{SurvivorFile, r.Survivor}, {LuckiestFile, r.Luckiest}}, func(o Other) bool {
		return o.Model != nil && o.Model.SHA256 != r.WeightsSHA256
	})
	return all
}

// models writes the models of a study, the returned one last.
func (d *dir) models(m *nn.Model, r *result.Result) error {
	for _, o := range Others(r) {
		if err := d.model(o.File, m, o.Model.Weights); err != nil {
			return err
		}
	}
	return d.returned(m, r.Best.Weights)
}

// returned writes the returned model.
func (d *dir) returned(m *nn.Model, weights []float32) error { return d.model(ModelFile, m, weights) }

func (d *dir) model(name string, m *nn.Model, weights []float32) error {
	err := wholefile.Stream(filepath.Join(d.path, name), 0o644, func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<20)
		if err := safetensors.Write(b, m, weights); err != nil {
			return err
		}
		return b.Flush()
	})
	if err != nil {
		return fmt.Errorf("study directory: %w", err)
	}
	return nil
}

// keep says that there is something to resume. Events may be late: of trials that
// run in parallel none comes before the first report.
func (d *dir) keep() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = true
}

// close ends the metrics, releases the lock and returns the first error of Event.
// A study that was new and in which nothing happened is removed again, unless it was
// interrupted.
func (d *dir) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.err
	if d.metrics != nil {
		err = errors.Join(err, d.metrics.Close())
	}
	interrupted := d.stopped != nil && d.stopped() != nil
	if !d.begun || interrupted || d.kept || d.events > 0 || exists(filepath.Join(d.path, ResultFile)) {
		return errors.Join(err, d.store.Close())
	}
	err = errors.Join(err, d.store.Discard())
	for _, name := range []string{ConfigFile, EnvFile, MetricsFile} {
		if e := os.Remove(filepath.Join(d.path, name)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if d.made {
		err = errors.Join(err, remove(d.path))
	}
	return err
}

func (d *dir) writeJSON(name string, v any) error {
	text, err := finite.MarshalIndent(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return d.write(name, append(bytes.TrimSpace(text), '\n'))
}

// write writes a whole file or none.
func (d *dir) write(name string, text []byte) error {
	if err := wholefile.Write(filepath.Join(d.path, name), text, 0o644); err != nil {
		return fmt.Errorf("study directory: %w", err)
	}
	return nil
}
