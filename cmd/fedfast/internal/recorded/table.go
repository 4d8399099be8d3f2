// Package recorded has recorded tables of federated tuning: configurations that were trained
// to the end, with every client's errors on the way. Any tuner can be played on them in no
// time. A table is a Parquet file, a row for each client of a recorded round, and a JSON
// file beside it that says what was trained and how to train any of it again.
package recorded

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/finite"
	"github.com/fedfast/fedfast/internal/formats/parquet"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/sys/regular"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
	"github.com/fedfast/fedfast/tuners"
)

// Suffix ends the names of tables.
const Suffix = ".parquet"

// MostRounds bounds the rounds of a table and its configurations, mostSamples the samples of all
// clients.
const (
	MostRounds  = 1 << 20
	mostSamples = 1 << 28
)

// format is the version of the form of both files.
const format = 1

// Head is what the JSON file holds.
type Head struct {
	Format int `json:"format"`
	// Fedfast is the version that trained.
	Fedfast workdir.Version `json:"fedfast"`
	// Name is the study's. Config is its study file without a seed: each row was trained by
	// it, with the params of its configuration and the row's seed, as the trial of the
	// configuration's number.
	Name   string         `json:"name"`
	Config string         `json:"config"`
	Space  map[string]any `json:"space"`
	// Data is the fingerprint of what was read, empty for data that are drawn.
	Data string `json:"data_fingerprint,omitempty"`
	// Measure is what the errors are, as Errors.Measure; empty for the share of samples
	// classified wrongly.
	Measure string `json:"error_measure,omitempty"`
	// Target is whose errors they are: personalized, or empty for those of the global model.
	Target string `json:"target,omitempty"`
	// Rounds is how many each row was trained, RecordEvery how many lie between the recorded ones.
	Rounds      int `json:"rounds"`
	RecordEvery int `json:"record_every"`
	// Clients are in the order of their indices in the rows; Central is the number of
	// samples of the federation's own test set, 0 without one or of personalized models, whose error stands at client -1.
	Clients []Client `json:"clients"`
	Central int      `json:"test_set,omitempty"`
	// Configurations are points of the space, by their numbers.
	Configurations []tuners.Params `json:"configurations"`
	// Rows are by seed, then by configuration.
	Rows []Row `json:"rows"`
	// SHA256 is the digest of the Parquet file.
	SHA256 string `json:"parquet_sha256"`
}

// Client is a client and its numbers of samples.
type Client struct {
	ID   string `json:"id"`
	Val  int    `json:"val"`
	Test int    `json:"test"`
}

// Row is one training.
type Row struct {
	Config int    `json:"config"`
	Seed   uint64 `json:"seed"`
	Rounds int    `json:"rounds"`
	// Failed is why it ended early, empty if it did not. Diverged is the round, from 1 on, in
	// which it failed or from which on all results were left out, 0 for none.
	Failed   string `json:"failed,omitempty"`
	Diverged int    `json:"diverged,omitempty"`
	// Dropped are, by round, the places in the cohort whose results were left out.
	Dropped map[int][]int `json:"dropped,omitempty"`
	// Recorded are the rounds that are in the Parquet file, none of a training that failed in
	// its first one. SHA256 are the digests of the weights after them.
	Recorded []int    `json:"recorded"`
	SHA256   []string `json:"weights_sha256"`
}

// Table is a table in memory.
type Table struct {
	Head
	// Trained are the trainings in the order of Head.Rows.
	Trained []study.Recording
	// Bytes is the length of the Parquet file that was read.
	Bytes int64
	space tuners.Space
}

// HeadPath returns the path of the JSON file that belongs to a Parquet file.
func HeadPath(path string) string { return strings.TrimSuffix(path, Suffix) + ".json" }

// CheckPath returns an error for a path that no table has.
func CheckPath(path string) error {
	if name := filepath.Base(path); !strings.HasSuffix(name, Suffix) || name == Suffix {
		return fmt.Errorf("%s: the name of a table ends in %s", path, Suffix)
	}
	return nil
}

// Write writes both files, the JSON file last.
func (t *Table) Write(path string) error {
	digest := sha256.New()
	err := wholefile.Stream(path, 0o644, func(w io.Writer) error { return t.writeRows(io.MultiWriter(w, digest)) })
	if err != nil {
		return err
	}
	t.Format, t.SHA256 = format, hex.EncodeToString(digest.Sum(nil))
	text, err := finite.MarshalIndent(t.Head)
	if err != nil {
		return err
	}
	return wholefile.Write(HeadPath(path), append(text, '\n'), 0o644)
}

// Open reads a table, the built-in one if the path is Example. Its errors are one line and name
// the file.
func Open(path string) (*Table, error) {
	if path == Example {
		return example()
	}
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	return read(path, wholefile.Read, func(path string) (parquet.Source, error) { return regular.Open(path) })
}

// read reads a table by functions that read and open files.
func read(path string, text func(string) ([]byte, error), open func(string) (parquet.Source, error)) (*Table, error) {
	head, err := text(HeadPath(path))
	if err != nil {
		return nil, fmt.Errorf("%s: no table, which is this file and one of JSON beside it: %w", path, err)
	}
	t, err := readHead(HeadPath(path), head)
	if err != nil {
		return nil, err
	}
	in, err := open(path)
	if err != nil {
		return nil, err
	}
	if err := t.check(path, in); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), in.Close())
	}
	f, err := parquet.Read(path, in)
	if err != nil {
		return nil, err
	}
	return t, errors.Join(t.readRows(path, f), f.Close())
}

// readHead reads the JSON file.
func readHead(path string, text []byte) (*Table, error) {
	t := &Table{}
	if err := json.Unmarshal(text, &t.Head); err != nil {
		return nil, fmt.Errorf("%s: not the JSON file of a table: %w", path, err)
	}
	if err := t.valid(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// valid checks what the JSON file says, and makes room for the trainings.
func (t *Table) valid() error {
	if t.Format != format {
		return fmt.Errorf("format %d: this version of fedfast reads tables of format %d", t.Format, format)
	}
	var err error
	if t.space, err = tuners.ParseSpace(t.Space); err != nil {
		return fmt.Errorf("space: %w", err)
	}
	for i, p := range t.Configurations {
		if err := t.space.Contains(p); err != nil {
			return fmt.Errorf("configuration %d: %w", i, err)
		}
	}
	val, test := 0, 0
	for i, c := range t.Clients {
		if c.Val < 0 || c.Test < 0 {
			return fmt.Errorf("client %d: negative number of samples", i)
		}
		if val, test = val+c.Val, test+c.Test; max(c.Val, c.Test, val, test) > mostSamples {
			return fmt.Errorf("client %d: with it there are more than %d samples", i, mostSamples)
		}
	}
	if len(t.Clients) == 0 || len(t.Configurations) == 0 {
		return errors.New("a table has clients and configurations")
	}
	if t.Target != "" && (t.Target != tuners.TargetPersonalized || t.Central != 0) {
		return fmt.Errorf("target %q: must be %q, without errors on a test set of all, or left out", t.Target, tuners.TargetPersonalized)
	}
	if t.Rounds < 1 || t.Rounds > MostRounds {
		return fmt.Errorf("%d rounds: must be 1 to %d", t.Rounds, MostRounds)
	}
	trained := make([]bool, len(t.Configurations))
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Config < 0 || r.Config >= len(t.Configurations) || r.Rounds < 0 || r.Rounds > t.Rounds || len(r.SHA256) != len(r.Recorded) {
			return fmt.Errorf("row %d: of no configuration, or its rounds are wrong", i)
		}
		if n := len(r.Recorded); n == 0 && (r.Rounds > 0 || r.Failed == "") ||
			n > 0 && (r.Recorded[0] != 0 || !slices.IsSorted(r.Recorded) || r.Recorded[n-1] > r.Rounds) {
			return fmt.Errorf("row %d: its recorded rounds are wrong", i)
		}
		if r.Diverged < 0 || r.Failed != "" && r.Diverged == 0 {
			return fmt.Errorf("row %d: it failed or diverged in no round", i)
		}
		for _, slots := range r.Dropped {
			if slices.ContainsFunc(slots, func(at int) bool { return at < 0 }) {
				return fmt.Errorf("row %d: a negative place of a dropped client", i)
			}
		}
		trained[r.Config] = true
		t.Trained = append(t.Trained, study.Recording{
			Trial: r.Config, Seed: r.Seed, Params: t.Configurations[r.Config], Rounds: r.Rounds, Failed: r.Failed, Diverged: r.Diverged, Dropped: r.Dropped,
		})
	}
	if i := slices.Index(trained, false); i >= 0 {
		return fmt.Errorf("configuration %d: no row", i)
	}
	return nil
}

// check compares the Parquet file with its digest.
func (t *Table) check(path string, in io.Reader) error {
	digest := sha256.New()
	var err error
	if t.Bytes, err = io.Copy(digest, in); err != nil {
		return err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != t.SHA256 {
		return fmt.Errorf("its SHA-256 is %s, but %s has %s: the files do not belong together, or one is damaged", got, filepath.Base(HeadPath(path)), t.SHA256)
	}
	return nil
}

// Seeds returns how many seeds the table has.
func (t *Table) Seeds() int {
	seeds := map[uint64]bool{}
	for i := range t.Rows {
		seeds[t.Rows[i].Seed] = true
	}
	return len(seeds)
}

// Study returns the configuration of a replay: that of the table, with assignments like those of
// config.Source. Only what does not change how clients train can be set.
func (t *Table) Study(sets []string, seed *uint64, tuner string) (*config.Config, error) {
	c, err := config.Load(config.Source{Text: t.Config, Sets: sets, Seed: seed, Tuner: tuner})
	if err != nil {
		return nil, err
	}
	base, err := config.Load(config.Source{Text: t.Config})
	if err != nil {
		return nil, err
	}
	if err := c.Replays(base); err != nil {
		return nil, err
	}
	if c.Budget.TrialRounds > t.Rounds {
		return nil, &key.Error{Key: "budget.trial_rounds", Problem: fmt.Sprintf(" = %d: the table has %d rounds", c.Budget.TrialRounds, t.Rounds)}
	}
	return c, c.CheckFor(config.ModeTune)
}

// Fit lowers the total of the rounds, by those of a trial, until the tuner accepts it.
func (t *Table) Fit(ctx context.Context, c *config.Config, tuner tuners.Tuner) error {
	var first error
	curves, none := t.Player(0), []tuners.Prior{} // whether tuner.from can be read is seen in Play
	for rounds := c.Budget.Rounds; rounds > 0; rounds -= max(1, c.Budget.TrialRounds) {
		fitted := *c
		fitted.Budget.Rounds = rounds
		err := study.Played{Config: fitted, Tuner: tuner, Curves: curves, Target: t.Target, Priors: none}.Check(ctx)
		if err == nil {
			*c = fitted
			return nil
		}
		first = cmp.Or(first, err)
	}
	if at, ok := errors.AsType[*key.Error](first); ok && at.Key == "budget.rounds" {
		return fmt.Errorf("no total of %d rounds or fewer suits trials of %d: %w", c.Budget.Rounds, c.Budget.TrialRounds, first)
	}
	return first
}

// Best returns the lowest validation error of a row at its last recorded round, of which
// configuration it is, NaN and -1 without any.
func (t *Table) Best() (configuration int, lowest float64) {
	configuration, lowest = -1, math.NaN()
	for i := range t.Trained {
		if t.Trained[i].Failed != "" {
			continue
		}
		if e := t.error(&t.Trained[i], t.Rounds); math.IsNaN(lowest) || e < lowest {
			configuration, lowest = t.Rows[i].Config, e
		}
	}
	return configuration, lowest
}
