package repro

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/workdir"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/plugins"
	"github.com/fedfast/fedfast/tuners"
)

// Job is a training with one seed.
type Job struct {
	Training *Training
	// Seed is the seed of the study, from 1 on.
	Seed       int
	Config     *config.Config
	Deviations []string
	Digest     string
	// File is where its metrics are written, Study the directory of the study
	// meanwhile.
	File, Study string
	// From is the directory of the finished study whose rounds it shares, empty for
	// none.
	From string
	// Keep says that another job shares its rounds.
	Keep bool

	group   int  // jobs of one group run in one shard, one after the other
	left    bool // its seed was not requested
	scale   float64
	variant string
	table   *Job // whose table it looks up
	values  *Job // with whose values it trains
}

// Shard is a part of the jobs: number I, from 1, of N; the zero value is all of
// them. It is the value of a flag.
type Shard struct{ I, N int }

// String writes "2/5", nothing for all.
func (s *Shard) String() string {
	if s.N == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.I, s.N)
}

// Set reads what String writes.
func (s *Shard) Set(text string) error {
	i, n, ok := strings.Cut(text, "/")
	x, errI := strconv.Atoi(i)
	y, errN := strconv.Atoi(n)
	if !ok || errI != nil || errN != nil || x < 1 || x > y {
		return errors.New("must be I/N, such as 2/5 for the second of five parts")
	}
	*s = Shard{x, y}
	return nil
}

// Type names the value in the help.
func (s *Shard) Type() string { return "I/N" }

// Plan returns the jobs of some cells in a directory, in the order in which they
// are best run: seed by seed, so that a table can be made at any time, and each
// after the one that it builds on. Trainings whose data are not at hand are left
// out and named in left; when that is all of them, it is an error, and so is a
// budget from which a tuner cannot be paid.
func Plan(ctx context.Context, cells []Cell, o Options, dir string) (jobs []*Job, left []string, err error) {
	trainings, err := trainingsOf(cells)
	if err != nil {
		return nil, nil, err
	}
	var missing error
	trainings = slices.DeleteFunc(trainings, func(t *Training) bool {
		_, err := Locate(t.Needs, o.Data)
		if err != nil {
			left, missing = append(left, t.Key), cmp.Or(missing, err)
		}
		return err != nil
	})
	if len(trainings) == 0 {
		return nil, nil, missing
	}
	most := 0
	for _, t := range trainings {
		most = max(most, o.seeds(t))
	}
	for _, seed := range o.Only {
		if seed < 1 || seed > most {
			return nil, nil, fmt.Errorf("--only %d: must be between 1 and %d; set the number of seeds with --seeds", seed, most)
		}
	}
	first := map[string]*Job{} // of the trainings with one table
	groups := 0
	for seed := 1; seed <= most; seed++ {
		of := map[string]*Job{}
		for _, t := range trainings {
			if seed > o.seeds(t) {
				continue
			}
			j, err := newJob(ctx, t, o, seed, dir)
			if err != nil {
				return nil, nil, err
			}
			// Others look up the table of the first one.
			j.left = len(o.Only) > 0 && !slices.Contains(o.Only, seed) && (!t.OneTable || seed != 1)
			source := of[t.Shares]
			if t.Values != nil {
				j.values = first[t.Values.Key]
			}
			switch {
			case t.OneTable && first[t.Key] != nil:
				j.table, j.group = first[t.Key], first[t.Key].group
			case source != nil:
				j.From, j.group, source.Keep = source.Study, source.group, true
			case j.values != nil:
				j.group = j.values.group
			default:
				j.group = groups
				groups++
			}
			if first[t.Key] == nil {
				first[t.Key] = j
			}
			of[t.Key] = j
			jobs = append(jobs, j)
		}
	}
	return jobs, left, nil
}

// trainingsOf returns the trainings of cells, each once.
func trainingsOf(cells []Cell) ([]*Training, error) {
	seen := map[string]bool{}
	var out []*Training
	why := ""
	for _, c := range cells {
		switch {
		case c.Training == nil:
			why = cmp.Or(why, c.Name+" cannot be run: "+c.Why)
		case !seen[c.Training.Key]:
			if v := c.Training.Values; v != nil && !seen[v.Key] {
				seen[v.Key] = true
				out = append(out, v)
			}
			seen[c.Training.Key] = true
			out = append(out, c.Training)
		}
	}
	if len(out) == 0 {
		return nil, errors.New(why)
	}
	return out, nil
}

func newJob(ctx context.Context, t *Training, o Options, seed int, dir string) (*Job, error) {
	c, deviations, err := t.Config(o, seed)
	if err != nil {
		return nil, err
	}
	if err := payable(ctx, c); err != nil && t.Mode == config.ModeTune {
		return nil, fmt.Errorf("%s: %w%s", t.Key, err, larger(ctx, t, o, seed))
	}
	name, err := digest(c)
	if err != nil {
		return nil, err
	}
	base := filepath.Join(dir, t.Key+"-"+name)
	path := filepath.Join(base, fmt.Sprintf("seed-%d", seed))
	return &Job{
		Training: t, Seed: seed, Config: c, Deviations: deviations, Digest: name, File: path + ".jsonl", Study: path, scale: cmp.Or(o.Scale, 1), variant: o.variant(),
	}, nil
}

// payable returns an error when the budget, as it was scaled, is not one that the
// tuner can spend.
func payable(ctx context.Context, c *config.Config) error {
	tuner := plugins.Builtin()[c.Tuner.Name]
	if tuner == nil {
		return nil // of a plain run, or one that is found when it starts
	}
	space, err := tuners.ParseSpace(c.Space)
	if err != nil {
		return fmt.Errorf("space.%w", err)
	}
	options, err := tuners.ParamsOf(c.Tuner.Options)
	if err != nil {
		return fmt.Errorf("tuner.options.%w", err)
	}
	problems, err := tuner.Validate(ctx, tuners.ValidateRequest{Space: space, Options: options, Budget: c.Budget.Tuners()})
	for _, p := range problems {
		if strings.HasPrefix(p.Key, "budget.") {
			return fmt.Errorf("%s: %s", p.Key, p.Message)
		}
	}
	return err
}

// In says whether the job belongs to a shard of the seeds that are asked for.
func (j *Job) In(s Shard) bool { return !j.left && (s.N == 0 || j.group%s.N == s.I-1) }

// Done returns the metrics of a job that has ended, nil for one that has not.
func (j *Job) Done() (*Metrics, error) {
	m, err := ReadMetrics(j.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return m, err
}

// Run runs a job that is not done, resuming its study, and writes its metrics. How
// it is worked on stands in o, whose Ready is called before the first round; the
// study's data and model are the job's.
func (j *Job) Run(ctx context.Context, o workdir.Options) (*Metrics, error) {
	if source := cmp.Or(j.table, j.values); source != nil {
		if err := j.take(source); err != nil {
			return nil, err
		}
	}
	before := cpuSeconds()
	fed, model, err := j.train(ctx, o)
	if err != nil {
		return nil, err
	}
	settings := *j.Config
	settings.Data.Path = "" // of this machine
	text, err := config.Encode(&settings)
	if err != nil {
		return nil, err
	}
	m, err := collect(ctx, j.Study, Head{
		Training: j.Training.Key, Digest: j.Digest, Seed: j.Seed, Scale: j.scale, Variant: j.variant, Deviations: j.Deviations,
		Config: string(text), Data: factsOf(fed),
	}, fed, model, j.Training.Board)
	if err != nil {
		return nil, err
	}
	if j.Training.Board {
		m.End.CPU = rounded(cpuSeconds() - before)
		m.shorten()
	}
	return m, m.Write(j.File)
}

// train brings the job's study to its end and returns the federation that it has
// opened, and the model.
func (j *Job) train(ctx context.Context, o workdir.Options) (fed *data.Federation, model *nn.Model, err error) {
	s, err := workdir.Open(ctx, j.Study, j.Config, j.Training.Mode, o.Log)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.Stored.Finished() { // only its metrics are missing
		return config.Prepare(ctx, j.Config)
	}
	ready := o.Ready
	o.Ready = func(ctx context.Context, setup *study.Setup) error {
		fed, model, setup.KeepTrials = setup.Data, setup.Model, j.Keep
		if ready != nil {
			if err := ready(ctx, setup); err != nil {
				return err
			}
		}
		return j.share(ctx, setup)
	}
	if j.Training.Mode == config.ModeRun {
		_, err = s.Run(ctx, o)
	} else {
		_, err = s.Tune(ctx, o)
	}
	return fed, model, err
}

// share takes the rounds that another job's study has trained, before the first of
// this one's own.
func (j *Job) share(ctx context.Context, setup *study.Setup) error {
	if j.From == "" || setup.Store.Seq() > 0 {
		return nil
	}
	from, err := store.Look(ctx, j.From)
	if err != nil {
		return nil // its study is gone: all rounds are trained
	}
	setup.Evaluated, err = study.Share(ctx, from, setup.Store, &setup.Config)
	return errors.Join(err, from.Close())
}

// take hands the job the table that another one has made, or its values.
func (j *Job) take(from *Job) error {
	m, err := from.Done()
	if err != nil {
		return err
	}
	if m == nil {
		what := [2]string{"table", "values"}[index(j.values != nil)]
		return fmt.Errorf("%s, seed %d: needs the %s of seed %d, which has not finished", j.Training.Key, j.Seed, what, from.Seed)
	}
	if j.values != nil {
		return j.takeValues(m)
	}
	if len(m.Sides) == 0 {
		return nil // a table was handed to both
	}
	text, err := TableOption(j.table.Config.Tuner.Options, j.table.Config.Seed, j.table.Config.Aim(), m.Sides)
	if err != nil {
		return err
	}
	j.Config.Tuner.Options[tableOption] = text
	return nil
}

// Tidy deletes the studies of finished jobs, unless another one still shares their
// rounds: their metrics stay.
func Tidy(jobs []*Job) error {
	var errs []error
	for _, j := range jobs {
		wanted := slices.ContainsFunc(jobs, func(o *Job) bool { return o.From == j.Study && !exists(o.File) })
		if exists(j.File) && !wanted {
			errs = append(errs, os.RemoveAll(j.Study))
		}
	}
	return errors.Join(errs...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
