package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fedfast/fedfast/internal/sys/regular"
)

// Training describes a training to be estimated or started.
type Training struct {
	Command  string         `json:"command" jsonschema:"run trains once; tune searches hyperparameters in many trials"`
	Preset   string         `json:"preset,omitempty" jsonschema:"preset to start from, see list presets; default: quickstart"`
	Config   string         `json:"config,omitempty" jsonschema:"whole study file in TOML, instead of a preset"`
	Settings map[string]any `json:"settings,omitempty" jsonschema:"keys of a study file and their values, such as {\"client.lr\": 0.1, \"rounds\": 50, \"method\": \"fedprox\"}; see list keys"`
	Seed     *int           `json:"seed,omitempty" jsonschema:"random seed; default 0"`
	Scale    float64        `json:"scale,omitempty" jsonschema:"multiply rounds and budgets by this factor, above 0 to 1"`
	Baseline int            `json:"baseline,omitempty" jsonschema:"tune only: compare with this number of random configurations"`
}

// args returns the program's arguments. A study file is written into a temporary
// file, which done removes.
func (t *Training) args() (args []string, done func(), err error) {
	done = func() {}
	if t.Command != "run" && t.Command != "tune" {
		return nil, done, fmt.Errorf("command %.80q: must be run or tune", t.Command)
	}
	args = []string{t.Command}
	switch {
	case t.Config != "" && t.Preset != "":
		return nil, done, errors.New("give either config or preset")
	case t.Config != "":
		f, err := os.CreateTemp("", "fedfast-*.toml")
		if err != nil {
			return nil, done, err
		}
		done = func() { _ = os.Remove(f.Name()) } // it may be gone
		_, err = f.WriteString(t.Config)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, done, err
		}
		args = append(args, f.Name())
	default:
		args = append(args, "--preset="+cmp.Or(t.Preset, "quickstart"))
	}
	for _, key := range slices.Sorted(maps.Keys(t.Settings)) {
		value, err := toml(t.Settings[key])
		if err != nil {
			return nil, done, fmt.Errorf("settings: %.80q: %w", key, err)
		}
		args = append(args, "--set="+key+"="+value)
	}
	if t.Seed != nil {
		args = append(args, "--seed="+strconv.Itoa(*t.Seed))
	}
	if t.Scale != 0 {
		args = append(args, "--scale="+strconv.FormatFloat(t.Scale, 'g', -1, 64))
	}
	if t.Baseline != 0 {
		args = append(args, "--baseline="+strconv.Itoa(t.Baseline))
	}
	return args, done, nil
}

// toml writes a value from JSON as TOML. Numbers without a fraction are integers.
func toml(v any) (string, error) {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10), nil
		}
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case string:
		text, err := json.Marshal(v)
		return string(text), err
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			var err error
			if parts[i], err = toml(v[i]); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			text, err := toml(v[key])
			if err != nil {
				return "", err
			}
			parts = append(parts, strconv.Quote(key)+" = "+text)
		}
		return "{ " + strings.Join(parts, ", ") + " }", nil
	}
	return "", errors.New("must be a number, a string, true, false, a list or a table")
}

func (s *Server) estimate(ctx context.Context, _ *mcp.CallToolRequest, in Training) (*mcp.CallToolResult, any, error) {
	args, done, err := in.args()
	defer done()
	if err != nil {
		return nil, nil, err
	}
	return s.answer(ctx, append(args, "--estimate")...)
}

// Start is a training with the name of its study.
type Start struct {
	Training
	Study      string  `json:"study" jsonschema:"name of the new study"`
	MaxSeconds float64 `json:"max_seconds,omitempty" jsonschema:"interrupt it after this number of seconds; default: what is left of the budget"`
}

func (s *Server) start(ctx context.Context, _ *mcp.CallToolRequest, in Start) (*mcp.CallToolResult, any, error) {
	dir, err := s.path(in.Study)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Lstat(dir); err == nil {
		return nil, nil, fmt.Errorf("study %s exists; resume it, or choose another name", in.Study)
	}
	args, done, err := in.args()
	var j *job
	defer func() {
		if j == nil {
			done()
		}
	}()
	if err != nil {
		return nil, nil, err
	}
	text, err := s.call(ctx, append(slices.Clone(args), "--estimate", "--json")...)
	if err != nil {
		return nil, nil, err
	}
	var e struct {
		Seconds float64 `json:"seconds"`
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	left := s.left()
	s.mu.Unlock()
	if in.MaxSeconds > 0 {
		left = min(left, seconds(in.MaxSeconds))
	}
	if e.Seconds > left.Seconds() {
		return nil, nil, fmt.Errorf("the training would take about %.0f seconds, more than the %.0f that are left; lower rounds or budget.rounds, or set scale", e.Seconds, left.Seconds())
	}
	if j, err = s.begin(in.Study, in.MaxSeconds, append(args, "--study="+dir)...); err != nil {
		return nil, nil, err
	}
	go func() { // the program has read the file long before it ends
		<-j.ended
		done()
	}()
	return encoded(map[string]any{"study": in.Study, "dir": dir, "limit_seconds": j.limit.Seconds(), "estimate": result(text)})
}

func (s *Server) resume(_ context.Context, _ *mcp.CallToolRequest, in Limited) (*mcp.CallToolResult, any, error) {
	dir, err := s.path(in.Study)
	if err != nil {
		return nil, nil, err
	}
	if _, err := os.Lstat(filepath.Join(dir, "config.toml")); err != nil {
		return nil, nil, fmt.Errorf("no study %q", in.Study)
	}
	j, err := s.begin(in.Study, in.MaxSeconds, "study", "resume", dir)
	if err != nil {
		return nil, nil, err
	}
	return encoded(map[string]any{"study": in.Study, "limit_seconds": j.limit.Seconds()})
}

// Limited names a study and bounds its time.
type Limited struct {
	Named
	MaxSeconds float64 `json:"max_seconds,omitempty" jsonschema:"interrupt it after this number of seconds; default: what is left of the budget"`
}

// begin launches a training.
func (s *Server) begin(study string, most float64, args ...string) (*job, error) {
	if most < 0 {
		return nil, fmt.Errorf("max_seconds = %v: must be a number > 0", most)
	}
	return s.launch(study, seconds(most), args...)
}

// seconds converts a number of seconds, at most a year.
func seconds(n float64) time.Duration {
	return time.Duration(min(n, 365*24*3600) * float64(time.Second))
}

func (s *Server) stop(_ context.Context, _ *mcp.CallToolRequest, in Named) (*mcp.CallToolResult, any, error) {
	s.mu.Lock()
	j := s.jobs[in.Study]
	s.mu.Unlock()
	if j == nil || j.over() {
		return nil, nil, fmt.Errorf("study %.80q is not running here", in.Study)
	}
	j.stop()
	<-j.ended
	return encoded(map[string]any{"study": in.Study, "state": s.state(j)})
}

// state says what became of a training of this server.
func (s *Server) state(j *job) string {
	switch {
	case !j.over():
		return "running"
	case j.err != nil:
		return "ended: " + j.err.Error()
	}
	return "completed"
}

// Watch asks for the events of a study after the first ones.
type Watch struct {
	Named
	After int     `json:"after,omitempty" jsonschema:"number of events to skip: the next of the last answer"`
	Wait  float64 `json:"wait_seconds,omitempty" jsonschema:"wait for new events for this number of seconds, at most 60"`
}

func (s *Server) watch(ctx context.Context, _ *mcp.CallToolRequest, in Watch) (*mcp.CallToolResult, any, error) {
	dir, err := s.path(in.Study)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	j := s.jobs[in.Study]
	s.mu.Unlock()
	events := &events{path: filepath.Join(dir, "metrics.jsonl"), skip: max(in.After, 0)}
	for end := time.Now().Add(min(seconds(in.Wait), maxWait)); ; {
		over := j == nil || j.over() // before the events are read: none comes after
		err := events.read()
		if errors.Is(err, fs.ErrNotExist) && j == nil {
			return nil, nil, fmt.Errorf("no study %q", in.Study)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		if len(events.rows) > 0 || over || time.Now().After(end) {
			first := min(events.skip, events.all)
			out := map[string]any{"rows": append([]result{}, events.rows...), "next": first + len(events.rows), "all": events.all, "state": "not running here; see show"}
			if j != nil {
				out["state"] = s.state(j)
			}
			return encoded(out)
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// events are the events of a file that grows, read once: the first ones after others.
type events struct {
	path string
	skip int
	rows []result // at most maxEvents
	all  int      // so far
	at   int64    // the end of the last whole line
}

// read reads what has been appended.
func (e *events) read() error {
	f, err := regular.Open(e.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was read only
	if _, err := f.Seek(e.at, io.SeekStart); err != nil {
		return err
	}
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // the rest is still being written
		}
		if err != nil {
			return err
		}
		e.at += int64(len(line))
		if !json.Valid(line) {
			continue
		}
		if e.all++; e.all > e.skip && len(e.rows) < maxEvents {
			e.rows = append(e.rows, result(bytes.TrimSpace(line)))
		}
	}
}

// lines returns the whole lines of a text in JSON lines.
func lines(text []byte) []result {
	var out []result
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) && json.Valid(line) {
			out = append(out, result(bytes.TrimSpace(line)))
		}
	}
	return out
}
