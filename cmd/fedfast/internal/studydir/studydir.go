// Package studydir keeps the files of a study: the resolved configuration, the
// environment, the metrics, the result and the returned model.
package studydir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/finite"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/nn"
)

// The files of a study.
const (
	ConfigFile  = "config.toml"
	EnvFile     = "env.json"
	MetricsFile = "metrics.jsonl"
	ResultFile  = "result.json"
	ModelFile   = "model.safetensors"
)

// Dir is the directory of a study that is being run.
type Dir struct {
	path string
	made bool // by Create

	mu      sync.Mutex
	metrics *os.File
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

// Check returns an error when the directory already holds a study.
func Check(path string) error {
	for name, what := range map[string]string{ResultFile: "a finished", ConfigFile: "an unfinished"} {
		if name == ConfigFile && exists(filepath.Join(path, ResultFile)) {
			continue
		}
		if exists(filepath.Join(path, name)) {
			return fmt.Errorf("--study %s: it holds %s study, which this version cannot go on with; name another directory or delete this one", path, what)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Create makes the directory and writes what is known before the first round.
func Create(path string, c *study.Config, env any) (*Dir, error) {
	if err := Check(path); err != nil {
		return nil, err
	}
	d := &Dir{path: path, made: !exists(path)}
	config, err := study.Encode(c)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("study directory: %w", err)
	}
	if err := d.write(ConfigFile, config); err != nil {
		return nil, err
	}
	if err := d.writeJSON(EnvFile, env); err != nil {
		return nil, err
	}
	if d.metrics, err = os.Create(filepath.Join(path, MetricsFile)); err != nil {
		return nil, fmt.Errorf("study directory: %w", err)
	}
	return d, nil
}

// Path returns where the directory is.
func (d *Dir) Path() string { return d.path }

// Event appends a line to the metrics. The first error stands until Close.
func (d *Dir) Event(e study.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events++
	line, err := finite.Marshal(e)
	if err == nil {
		_, err = d.metrics.Write(append(line, '\n'))
	}
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("write %s: %w", MetricsFile, err)
	}
}

// Result writes the end of the study.
func (d *Dir) Result(v any) error { return d.writeJSON(ResultFile, v) }

// Model writes the returned model.
func (d *Dir) Model(m *nn.Model, weights []float32) error {
	var text bytes.Buffer
	if err := fl.WriteSafetensors(&text, m, weights); err != nil {
		return fmt.Errorf("write %s: %w", ModelFile, err)
	}
	return d.write(ModelFile, text.Bytes())
}

// Close ends the metrics and returns the first error of Event. A directory in
// which nothing happened is removed again.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := errors.Join(d.err, d.metrics.Close())
	if d.events == 0 && !exists(filepath.Join(d.path, ResultFile)) {
		for _, name := range []string{ConfigFile, EnvFile, MetricsFile} {
			err = errors.Join(err, os.Remove(filepath.Join(d.path, name)))
		}
		if d.made {
			err = errors.Join(err, os.Remove(d.path))
		}
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
