package repro

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/finite"
	"github.com/fedfast/fedfast/internal/formats/gzfile"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/internal/tuner/fedtune"
	"github.com/fedfast/fedfast/tuners"
)

// metricsFormat is the number of the form in which metrics are written.
const metricsFormat = 1

// mostSeeds bounds seeds: a table has room for each one up to the highest.
const mostSeeds = 10_000

// Metrics is what a training with one seed measured: the lines of a file. A number
// that is not finite is null.
type Metrics struct {
	Head   Head
	Trials []TrialLine
	Sides  []result.ProxyTrial
	// Clients are those with a policy of their own.
	Clients []ClientLine
	End     End
}

// Head is the first line.
type Head struct {
	Kind     string `json:"kind"` // "head"
	Format   int    `json:"format"`
	Training string `json:"training"`
	// Digest names the settings but for seed and place of the data: numbers of
	// different digests are never mixed.
	Digest string `json:"digest"`
	// Seed is the seed of the study, from 1 on.
	Seed int `json:"seed"`
	// Scale is 1 for the paper's own; Variant says in flags how the training was
	// asked for.
	Scale      float64  `json:"scale"`
	Variant    string   `json:"variant"`
	Deviations []string `json:"deviations"`
	// Config is the study file.
	Config string `json:"config"`
	// Data says what was opened.
	Data        DataFacts   `json:"data"`
	Environment Environment `json:"environment"`
}

// Environment is where and when the process ran that began the study.
type Environment struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	CPU      string `json:"cpu"`
	Level    string `json:"level"`
	Workers  int    `json:"workers"`
	Started  string `json:"started"`
}

// DataFacts tell a federation from another one.
type DataFacts struct {
	Name    string   `json:"name"`
	Clients int      `json:"clients"`
	Train   int      `json:"train"` // examples of all clients
	Val     int      `json:"val"`
	Test    int      `json:"test"`
	Notes   []string `json:"notes,omitempty"`
	// Fingerprint is data.Federation's, empty in metrics of versions that kept
	// none.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// differ says whether two seeds ran on different data, as far as that is known.
func (d *DataFacts) differ(o *DataFacts) bool {
	return d.Name != o.Name || d.Clients != o.Clients || d.Fingerprint != "" && o.Fingerprint != "" && d.Fingerprint != o.Fingerprint
}

// String tells the data from others.
func (d *DataFacts) String() string {
	text := fmt.Sprintf("%s of %d clients", d.Name, d.Clients)
	if d.Fingerprint != "" {
		text += ", fingerprint " + d.Fingerprint
	}
	return text
}

// TrialLine is an arm of the study. Its lists have an entry a round.
type TrialLine struct {
	Kind   string        `json:"kind"` // "trial"
	Number int           `json:"number"`
	Params tuners.Params `json:"params"`
	// Configs are the client configurations among which FedEx chooses in this arm:
	// for each its values in the order of ConfigParams.
	ConfigParams []string    `json:"config_params,omitempty"`
	Configs      [][]float64 `json:"configs,omitempty"`
	// Rungs are the rounds at which the wrapper decided, with the scores that it
	// saw.
	Rungs []result.Rung `json:"rungs,omitempty"`
	// Personalized and Global are the rounds' validation errors (losses, as the
	// objective says) of the models that clients trained and of those they were
	// sent.
	Personalized []*float64 `json:"personalized,omitempty"`
	Global       []*float64 `json:"global,omitempty"`
	TrainLoss    []*float64 `json:"train_loss,omitempty"`
	// Seconds are wall-clock times; null for the first round after a decision and
	// for rounds that another study had trained.
	Seconds []*float64 `json:"seconds,omitempty"`
	// Entropy is the entropy of FedEx's theta, in nats, with which each round's configurations
	// were drawn; of a trial that is the study's only one.
	Entropy []float64 `json:"entropy,omitempty"`
	// Theta are the probabilities of Configs with which the last round's were drawn, to
	// four decimals, where Entropy is; nil in metrics of versions that did not keep them.
	Theta []float64 `json:"theta,omitempty"`
	// Simulated are the seconds of each round's slowest client on the simulated device,
	// of a trial without a wrapper.
	Simulated []*float64 `json:"seconds_simulated,omitempty"`
	// Test is the global model's test error after some rounds.
	Test   []result.CurvePoint `json:"test,omitempty"`
	Failed string              `json:"failed,omitempty"`
	// Dropped counts results of clients that were left out because they were not
	// finite; nil in metrics of versions that did not count them.
	Dropped *int `json:"dropped,omitempty"`
}

// End is the last line.
type End struct {
	Kind string `json:"kind"` // "end"
	// Best is the returned model, nil for a plain run but of the tuned board; Survivor the last one that
	// the wrapper kept.
	Best     *Returned `json:"best,omitempty"`
	Survivor *Returned `json:"survivor,omitempty"`
	// Measure is what errors are, see result.Errors; empty for shares of examples
	// classified wrongly.
	Measure string `json:"error_measure,omitempty"`
	// Curve is the one trial of a training without a wrapper.
	Curve []result.CurvePoint `json:"curve,omitempty"`
	// Goal is the test accuracy at which the training ended, 0 without one.
	Goal    float64 `json:"goal,omitempty"`
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds"`
	SHA256  string  `json:"weights_sha256"`
	// Dropped is the sum of the arms'.
	Dropped *int `json:"dropped,omitempty"`
	// Examples are the training samples that all rounds processed, 0 in metrics of versions that
	// did not count them; CPU, of the tuned board, the core-seconds since its start or last resumption.
	Examples int     `json:"examples,omitempty"`
	CPU      float64 `json:"cpu_seconds,omitempty"`
}

// Returned is a model that a study returns, with its errors on all clients.
type Returned struct {
	Trial            int      `json:"trial"`
	Round            int      `json:"round"`
	Score            float64  `json:"score"`
	GlobalVal        *float64 `json:"global_val_error"`
	GlobalTest       *float64 `json:"global_test_error"`
	PersonalizedVal  *float64 `json:"personalized_val_error"`
	PersonalizedTest *float64 `json:"personalized_test_error"`
	// NewTest is of the personalized models of clients that never took part.
	NewTest *float64 `json:"unseen_adapted_test_error,omitempty"`
}

// reached returns x at the first point of the curve that reaches the goal, or, with
// false, at its end when none does.
func (m *Metrics) reached(x func(result.CurvePoint) float64) (float64, bool) {
	return reached(m.End.Curve, m.End.Goal, x)
}

// reached is Metrics.reached of a curve and a goal.
func reached(curve []result.CurvePoint, goal float64, x func(result.CurvePoint) float64) (float64, bool) {
	spent := math.NaN()
	for _, p := range curve {
		if spent = x(p); 1-p.TestError >= goal {
			return spent, true
		}
	}
	return spent, false
}

// Write writes metrics into a file, whole or not at all.
func (m *Metrics) Write(path string) error {
	if err := wholefile.Folder(filepath.Dir(path)); err != nil {
		return err
	}
	if err := wholefile.Stream(path, 0o644, m.encode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func (m *Metrics) encode(w io.Writer) error {
	out := bufio.NewWriter(w)
	line := func(v any) error {
		text, err := finite.Marshal(v)
		if err == nil {
			_, err = out.Write(append(text, '\n'))
		}
		return err
	}
	if err := line(m.Head); err != nil {
		return err
	}
	for i := range m.Sides {
		if err := line(sideLine{"side", m.Sides[i]}); err != nil {
			return err
		}
	}
	for i := range m.Trials {
		if err := line(m.Trials[i]); err != nil {
			return err
		}
	}
	for i := range m.Clients {
		if err := line(m.Clients[i]); err != nil {
			return err
		}
	}
	return errors.Join(line(m.End), out.Flush())
}

// sideLine is a trial on a proxy federation.
type sideLine struct {
	Kind string `json:"kind"`
	result.ProxyTrial
}

// ReadMetrics reads a file that Write wrote. A file whose last line is missing is
// an error, and so is one that is larger than wholefile.Read allows.
func ReadMetrics(path string) (*Metrics, error) {
	all, err := readAll(path)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("%s: metrics of %d seeds, expected those of one", path, len(all))
	}
	return all[0], nil
}

// readAll reads a file of metrics, or several one after another in one file.
func readAll(path string) ([]*Metrics, error) {
	content, err := contentOf(path)
	if err != nil {
		return nil, err
	}
	all := []*Metrics{{}}
	n := 0
	for text := range bytes.Lines(content) {
		n++
		m := all[len(all)-1]
		if m.End.Kind != "" {
			m = &Metrics{}
			all = append(all, m)
		}
		if err := m.decode(text); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	if m := all[len(all)-1]; m.Head.Kind == "" || m.End.Kind == "" {
		return nil, fmt.Errorf("%s: metrics file is truncated; delete it to run the seed again", path)
	}
	return all, nil
}

// packed ends the names of files of metrics that gzip has compressed.
const packed = ".gz"

// contentOf reads a file of metrics, which may be compressed.
func contentOf(path string) (content []byte, err error) {
	if !strings.HasSuffix(path, packed) {
		return wholefile.Read(path)
	}
	f, err := gzfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}

// decode takes in a line.
func (m *Metrics) decode(text []byte) error {
	var line struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return fmt.Errorf("invalid line of metrics: %w; delete the file to run the seed again", err)
	}
	switch line.Kind {
	case "head":
		if m.Head.Kind != "" {
			return errors.New("a second head")
		}
		if err := json.Unmarshal(text, &m.Head); err != nil {
			return err
		}
		if m.Head.Format != metricsFormat {
			return fmt.Errorf("metrics format %d is not supported; this version reads format %d", m.Head.Format, metricsFormat)
		}
		if t := m.Head.Seed; t < 1 || t > mostSeeds {
			return fmt.Errorf("seed %d: must be between 1 and %d", t, mostSeeds)
		}
		return nil
	case "trial":
		var t TrialLine
		err := json.Unmarshal(text, &t)
		m.Trials = append(m.Trials, t)
		return err
	case "side":
		var s sideLine
		err := json.Unmarshal(text, &s)
		m.Sides = append(m.Sides, s.ProxyTrial)
		return err
	case "client":
		var c ClientLine
		err := json.Unmarshal(text, &c)
		m.Clients = append(m.Clients, c)
		return err
	case "end":
		return json.Unmarshal(text, &m.End)
	}
	return fmt.Errorf("invalid line of metrics: unknown kind %q", line.Kind)
}

// TableOption returns the table that the trials on proxy federations of a study of
// fedtune-hrt with an objective give, as the value of the option `table` of another study; see
// fedtune.TableOf.
func TableOption(options map[string]any, seed uint64, aim tuners.Objective, sides []result.ProxyTrial) (string, error) {
	given, err := tuners.ParamsOf(options)
	if err != nil {
		return "", fmt.Errorf("options.%w", err)
	}
	return fedtune.TableOf(given, seed, aim, list.Of(sides, func(t result.ProxyTrial) fedtune.Tried {
		return fedtune.Tried{Environment: t.Environment, Params: t.Params, Table: t.Table, Score: t.Score}
	}))
}

// sideTables returns, for each seed that filled one, FedTune's table: for each
// number of samples and heterogeneity index the best trial on proxy federations,
// with its error on proxy samples.
func (r *Report) sideTables() []Table {
	filled := list.Where(r.all(), func(m *Metrics) bool { return len(m.Sides) > 0 })
	return list.Of(filled, (*Metrics).sideTable)
}

func (m *Metrics) sideTable() Table {
	best := result.BestProxies(m.Sides, tuners.Objective{})
	t := Table{
		Title: fmt.Sprintf("the table of %s, seed %d, best of %d trials on proxy federations: error on proxy samples, learning rate, batch, epochs (%s)",
			m.Head.Training, m.Head.Seed, len(m.Sides), variantText(m.Head.Variant)),
		Head: []string{"samples"},
	}
	for _, hi := range best.HIs {
		t.Head = append(t.Head, fmt.Sprintf("HI %v", hi))
	}
	for i, n := range best.Samples {
		t.Rows = append(t.Rows, append([]string{strconv.Itoa(n)}, list.Of(best.Cells[i], sideCell)...))
	}
	return t
}

// sideCell writes a cell: "0.153, lr 0.084, batch 8, 15 epochs".
func sideCell(s *result.ProxyTrial) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f, lr %v, batch %v, %v epochs", *s.Score, s.Params.Float("client.lr", 0), s.Params.Float("client.batch", 0), s.Params.Float("client.epochs", 0))
}
