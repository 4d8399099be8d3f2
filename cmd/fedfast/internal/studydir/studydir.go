// Package studydir keeps the files of a study: the record from which it is gone
// on with, and, for readers, the resolved configuration, the environment, the
// metrics, the result and the returned model.
package studydir

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

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/finite"
	"github.com/fedfast/fedfast/fl/study/store"
	"github.com/fedfast/fedfast/nn"
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

// Dir is the directory of a study that this process works on.
type Dir struct {
	path  string
	made  bool // by Open
	fresh bool // nothing was recorded before
	store *store.Store

	mu      sync.Mutex
	metrics *os.File      // nil before Begin
	old     *bufio.Reader // lines of earlier processes that are yet to come again
	at      int64         // where the next line begins
	events  int
	err     error // the first of Event
}

// odd are the signs that a directory's name does not have.
var odd = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// Default returns a directory below studies/ that does not exist yet, named
// after the day and the study.
func Default(now time.Time, name string) string {
	base := filepath.Join("studies", now.Format("2006-01-02")+"-"+odd.ReplaceAllString(name, "-"))
	path := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path
		}
		path = fmt.Sprintf("%s-%d", base, n)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Open makes the directory, if need be, and takes its lock. What it holds of a
// study stays. A directory in which another process works is a *store.BusyError.
func Open(ctx context.Context, path string) (*Dir, error) {
	if !store.Exists(path) && exists(filepath.Join(path, ConfigFile)) {
		return nil, fmt.Errorf("--study %s: it holds a study without %s, which cannot be gone on with; name another directory or delete this one", path, store.File)
	}
	d := &Dir{path: path, made: !exists(path)}
	var err error
	if d.store, err = store.Open(ctx, path); err != nil {
		return nil, err
	}
	d.fresh = d.store.Seq() == 0
	return d, nil
}

// Begin writes what is known before the first round, and opens the metrics.
// Events that earlier processes wrote are not written again.
func (d *Dir) Begin(c *study.Config, env any) error {
	config, err := study.Encode(c)
	if err != nil {
		return err
	}
	if err := d.write(ConfigFile, config); err != nil {
		return err
	}
	if !exists(filepath.Join(d.path, EnvFile)) {
		if err := d.writeJSON(EnvFile, env); err != nil {
			return err
		}
	}
	name := filepath.Join(d.path, MetricsFile)
	if d.metrics, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return fmt.Errorf("study directory: %w", err)
	}
	if !d.fresh {
		d.old = bufio.NewReader(io.NewSectionReader(d.metrics, 0, math.MaxInt64))
		return nil
	}
	return d.metrics.Truncate(0)
}

// Store returns what is recorded of the study.
func (d *Dir) Store() *store.Store { return d.store }

// Path returns where the directory is.
func (d *Dir) Path() string { return d.path }

// Event appends a line to the metrics, unless it stands there. The first error
// stands until Close.
func (d *Dir) Event(e study.Event) {
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
func (d *Dir) line(line []byte) error {
	if d.old != nil {
		was, err := d.old.ReadBytes('\n')
		if err == nil && bytes.Equal(was, line) {
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

// Complete says whether the files of a finished study are there; a nil Dir is a
// study that has not begun.
func (d *Dir) Complete() bool {
	return d != nil && exists(filepath.Join(d.path, ResultFile)) && exists(filepath.Join(d.path, ModelFile))
}

// Finished returns the end of a study that holds all that is asked for: the
// recorded result, with the baseline of its file. It returns nil when there is
// something left to do.
func (d *Dir) Finished(recorded *study.Result, baseline int) *study.Result {
	if recorded == nil || !d.Complete() {
		return nil
	}
	var r study.Result // of a version that did not record baselines
	text, err := os.ReadFile(filepath.Join(d.path, ResultFile))
	if recorded.Baseline == nil && err == nil && json.Unmarshal(text, &r) == nil && r.WeightsSHA256 == recorded.WeightsSHA256 {
		recorded.Baseline = r.Baseline
	}
	if have := recorded.Baseline; baseline > 0 && (have == nil || len(have.Trials) != baseline) {
		return nil
	}
	return recorded
}

// Result writes the end of the study.
func (d *Dir) Result(v any) error { return d.writeJSON(ResultFile, v) }

// Other is a model that a study did not return.
type Other struct {
	File  string
	Model *study.Chosen
}

// Others are the models of a result, each in a file of its own, that the study
// might have returned and that are other ones than the returned model.
func Others(r *study.Result) []Other {
	var all []Other
	for _, o := range []Other{{SurvivorFile, r.Survivor}, {LuckiestFile, r.Luckiest}} {
		if o.Model != nil && o.Model.SHA256 != r.WeightsSHA256 {
			all = append(all, o)
		}
	}
	return all
}

// Models writes the models of a study, the returned one last.
func (d *Dir) Models(m *nn.Model, r *study.Result) error {
	for _, o := range Others(r) {
		if err := d.model(o.File, m, o.Model.Weights()); err != nil {
			return err
		}
	}
	return d.Model(m, r.Weights())
}

// Model writes the returned model.
func (d *Dir) Model(m *nn.Model, weights []float32) error { return d.model(ModelFile, m, weights) }

func (d *Dir) model(name string, m *nn.Model, weights []float32) error {
	var text bytes.Buffer
	if err := fl.WriteSafetensors(&text, m, weights); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return d.write(name, text.Bytes())
}

// Close ends the metrics, releases the lock and returns the first error of Event.
// A study that was new and in which nothing happened is removed again.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.err
	if d.metrics != nil {
		err = errors.Join(err, d.metrics.Close())
	}
	if !d.fresh || d.events > 0 || exists(filepath.Join(d.path, ResultFile)) {
		return errors.Join(err, d.store.Close())
	}
	err = errors.Join(err, d.store.Discard())
	for _, name := range []string{ConfigFile, EnvFile, MetricsFile} {
		if e := os.Remove(filepath.Join(d.path, name)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if d.made {
		err = errors.Join(err, os.Remove(d.path))
	}
	return err
}

func (d *Dir) writeJSON(name string, v any) error {
	text, err := finite.MarshalIndent(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return d.write(name, append(bytes.TrimSpace(text), '\n'))
}

// write writes a whole file or none.
func (d *Dir) write(name string, text []byte) error {
	path := filepath.Join(d.path, name)
	if err := os.WriteFile(path+".part", text, 0o644); err != nil {
		return fmt.Errorf("study directory: %w", err)
	}
	if err := os.Rename(path+".part", path); err != nil {
		return fmt.Errorf("study directory: %w", err)
	}
	return nil
}
