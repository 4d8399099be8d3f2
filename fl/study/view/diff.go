package view

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/finite"
	"github.com/fedfast/fedfast/internal/store"
)

// Diff says in what two studies differ, A and B.
type Diff struct {
	// Configuration has the keys with different values, Data what their data are, empty where they
	// are the same, and Made who trained them where that differs: version, CPU level.
	Configuration []Pair `json:"configuration"`
	Data          []Pair `json:"data"`
	Made          []Pair `json:"made_by"`
	// Decision is the first call of the tuner in which they differ, Round the first round or rung,
	// in the order in which A recorded them; nil where they have the same, as far as both go.
	Decision *Split `json:"first_decision"`
	Round    *Split `json:"first_round"`
	// Decisions and Rounds count what both have up to there.
	Decisions int `json:"equal_decisions"`
	Rounds    int `json:"equal_rounds"`
	// Retrained says of A and of B whether training again agrees with the record up to the round of Round;
	// empty where that was not asked for.
	Retrained []bool `json:"retrained,omitempty"`
	// Result has what differs in the results of two finished studies.
	Result []Pair `json:"result"`
	// Distances are how far apart they are after Round and each later round of its trial.
	Distances []Distance `json:"distances,omitempty"`
}

// Distance is how far two studies are apart after a round of a trial.
type Distance struct {
	Round int `json:"round"`
	// Apart has the absolute differences of what the round recorded: train_loss, score, test_error, as far as
	// both have them; and weights, where both were trained again: the Euclidean norm of B's global weights
	// less A's, as a share of that of A's.
	Apart map[string]float64 `json:"apart"`
	// Equal says whether the digests of the weights are equal; nil where one of them is not recorded.
	Equal *bool `json:"weights_equal"`
}

// distance is how far a round of A and of B are apart.
func distance(round int, x, y *record.Round) Distance {
	d := Distance{Round: round, Apart: map[string]float64{}}
	for name, v := range map[string][2]*record.Real{
		"train_loss": {&x.TrainLoss, &y.TrainLoss}, "score": {&x.Score, &y.Score}, "test_error": {x.TestError, y.TestError},
	} {
		if v[0] != nil && v[1] != nil && !math.IsNaN(float64(*v[0]-*v[1])) {
			d.Apart[name] = math.Abs(float64(*v[0] - *v[1]))
		}
	}
	if x.Weights != "" && y.Weights != "" {
		d.Equal = new(x.Weights == y.Weights)
	}
	return d
}

// Pair is something of which two studies have different values.
type Pair struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// Split is where two studies part.
type Split struct {
	// What is the kind of the row, such as store.KindRound, and Number counts the rows up to it.
	What   string `json:"what"`
	Trial  int    `json:"trial"`
	Round  int    `json:"round"`
	Number int    `json:"number"`
	// Values are those that differ; a value that one of them lacks is empty.
	Values []Pair `json:"values"`
	// Same is the last round of the trial after which digests say that the weights are the same,
	// Other the first one after which they differ; 0 for none.
	Same  int `json:"weights_equal_after"`
	Other int `json:"weights_differ_after"`
	// Changes are what clients returned in the round that differs, with digests of all rounds.
	Changes []Change `json:"changes"`
	seq     int64
}

// Change is what a client returned to the server.
type Change struct {
	// Client is its index in the federation, Tensors are the names of those that differ.
	Client  int      `json:"client"`
	Tensors []string `json:"tensors"`
}

// Equal reports whether the studies have the same data, decisions and rounds, and results of the same
// weights and scores.
func (d *Diff) Equal() bool {
	return len(d.Data) == 0 && d.Decision == nil && d.Round == nil && len(d.Result) == 0
}

// Compare finds in what the record of another study differs. What a process did to a study without
// an effect on its results, such as when it was interrupted, is no difference. Where one of them has
// not finished, its rounds are compared as far as they go, and the results differ in the state.
func (s *Study) Compare(ctx context.Context, other *Study, a, b *Overview) (*Diff, error) {
	d := &Diff{Data: []Pair{}, Result: []Pair{}}
	if err := d.begun(ctx, s, other, a, b); err != nil {
		return nil, err
	}
	whole := a.State == Completed && b.State == Completed
	calls, err := split(s.calls(ctx, a), other.calls(ctx, b), whole)
	if err != nil {
		return nil, err
	}
	d.Decision, d.Decisions = calls.at, calls.equal
	longer := a
	if len(b.Trials) > len(a.Trials) {
		longer = b
	}
	for _, t := range longer.Trials {
		got, err := split(s.rows(ctx, t.Number), other.rows(ctx, t.Number), whole)
		if err != nil {
			return nil, err
		}
		d.Rounds += got.rounds
		if got.at != nil && (d.Round == nil || got.at.seq < d.Round.seq) {
			d.Round, d.Distances = got.at, got.apart
		}
	}
	return d, d.results(a, b)
}

// calls reads the answered calls of the tuner, in their order.
func (s *Study) calls(ctx context.Context, o *Overview) func(func(store.Row) error) error {
	return func(f func(store.Row) error) error {
		return s.view.Few(ctx, o.Seq, f, store.KindSuggest, store.KindReport)
	}
}

// rows reads what was recorded of a trial, in the order of its rounds.
func (s *Study) rows(ctx context.Context, trial int) func(func(store.Row) error) error {
	return func(f func(store.Row) error) error {
		kinds := []string{store.KindPlan, store.KindRound, store.KindRung, store.KindFail, store.KindFinalist}
		return s.view.Of(ctx, trial, -1, f, kinds...)
	}
}

// begun compares the data and the processes of the studies.
func (d *Diff) begun(ctx context.Context, s, other *Study, a, b *Overview) error {
	var data, first, lines, made [2]map[string]string
	for i, o := range []*Overview{a, b} {
		var err error
		if lines[i], err = config.Lines(o.Config); err != nil {
			return err
		}
		if err := [...]*Study{s, other}[i].view.Few(ctx, o.Seq, func(r store.Row) (err error) {
			into := &data
			if r.Kind == store.KindStudy {
				into = &first
			}
			into[i], err = flat(r.Data)
			return err
		}, store.KindStudy, store.KindData); err != nil {
			return err
		}
		maps.DeleteFunc(first[i], func(name, _ string) bool { return name == "config" || name == "name" }) // its keys
		if n := len(o.Sessions); n > 0 {
			made[i] = map[string]string{"version": o.Sessions[n-1].Version, "CPU level": o.Sessions[n-1].Level}
		}
	}
	d.Configuration, d.Made = append(pairs(first[0], first[1]), pairs(lines[0], lines[1])...), pairs(made[0], made[1])
	if data[0] != nil && data[1] != nil {
		d.Data = pairs(data[0], data[1])
	} else { // drawn, as the configuration says
		for _, p := range d.Configuration {
			if strings.HasPrefix(p.Name, "data.") {
				d.Data = append(d.Data, p)
			}
		}
	}
	if x, y := a.Config, b.Config; x.Data.Seed == 0 && y.Data.Seed == 0 && x.Seed != y.Seed { // drawn otherwise
		d.Data = append(d.Data, Pair{"seed", strconv.FormatUint(a.Config.Seed, 10), strconv.FormatUint(b.Config.Seed, 10)})
	}
	return nil
}

// timed finds what tells of time and is not simulated.
var timed = regexp.MustCompile(`(^|[.])(seconds|rounds_per_second|digest_share|pauses)$`)

// results compares the ends of the studies, but for what tells of time.
func (d *Diff) results(a, b *Overview) error {
	var ends [2]map[string]string
	for i, o := range []*Overview{a, b} {
		text, err := finite.Marshal(result.End{Tune: o.Tune, Run: o.Run})
		if err == nil {
			ends[i], err = flat(text)
		}
		if err != nil {
			return err
		}
		maps.DeleteFunc(ends[i], func(name, _ string) bool { return timed.MatchString(name) })
		ends[i]["rounds"], ends[i]["state"] = strconv.Itoa(o.Rounds), string(o.State)
	}
	if a.State != b.State { // the end of one alone tells nothing more
		d.Result = append(d.Result, Pair{"state", string(a.State), string(b.State)})
		return nil
	}
	d.Result = pairs(ends[0], ends[1])
	return nil
}

// parting is where the rows of two studies part.
type parting struct {
	at            *Split // nil for nowhere
	equal, rounds int    // rows before it, and rounds among them
	same          int    // the last round before it with digests of the weights
	apart         []Distance
}

// errParted ends reading.
var errParted = errors.New("they part")

// split compares the rows that reading two studies calls f for. A study that has fewer rows has not
// come so far, unless both are whole.
func split(a, b func(f func(store.Row) error) error, whole bool) (p parting, err error) {
	next, stop := iter.Pull2(func(yield func(store.Row, error) bool) {
		err := b(func(r store.Row) error {
			if !yield(r, nil) {
				return errParted
			}
			return nil
		})
		if err != nil && !errors.Is(err, errParted) {
			yield(store.Row{}, err)
		}
	})
	defer stop()
	err = a(func(r store.Row) error {
		q, err, ok := next()
		switch {
		case p.at != nil:
			return p.behind(r, q)
		case !ok && whole:
			p.at = surplus(r, p.equal, "recorded", "")
			return errParted
		case !ok:
			return errParted
		case err != nil:
			return err
		case q.Kind == r.Kind && q.Round == r.Round && r.Kind == store.KindRound:
			return p.round(r, q)
		case q.Kind == r.Kind && q.Round == r.Round && bytes.Equal(q.Data, r.Data):
			p.equal++
			return nil
		}
		p.at = splitAt(r, p.equal)
		if q.Kind != r.Kind || q.Round != r.Round {
			of := func(r store.Row) string { return fmt.Sprintf("%s of round %d", r.Kind, r.Round) }
			p.at.Values = []Pair{{"recorded next", of(r), of(q)}}
			return errParted
		}
		if p.at.Values, err = Differing(r.Data, q.Data); err == nil {
			err = errParted
		}
		return err
	})
	if errors.Is(err, errParted) {
		return p, nil
	}
	if q, more, ok := next(); err == nil && ok && whole && more == nil {
		p.at = surplus(q, p.equal, "", "recorded")
	}
	return p, err
}

// surplus is a row that one study alone has.
func surplus(r store.Row, equal int, a, b string) *Split {
	s := splitAt(r, equal)
	s.Values = []Pair{{fmt.Sprintf("%s of round %d", r.Kind, r.Round), a, b}}
	return s
}

// splitAt is a split at a row, after equal ones.
func splitAt(r store.Row, equal int) *Split {
	return &Split{
		What: r.Kind, Trial: r.Trial, Round: r.Round, Number: equal + 1, Values: []Pair{}, Changes: []Change{}, seq: r.Seq,
	}
}

// round compares the records of a round of two studies. Where they part, the rows after it are read on.
func (p *parting) round(r, q store.Row) error {
	x, y, err := both(r, q)
	if err != nil {
		return err
	}
	x.Match(y)
	s := splitAt(r, p.equal)
	if slices.Equal(x.Clients, y.Clients) {
		s.Changes = changes(x, y)
	}
	weights, differ := x.Weights, x.Weights != y.Weights
	x.Tensors, y.Tensors, x.Weights, y.Weights = nil, nil, "", ""
	a, errA := json.Marshal(x)
	b, errB := json.Marshal(y)
	err = cmp.Or(errA, errB)
	if err == nil && !bytes.Equal(a, b) {
		s.Values, err = Differing(a, b)
	}
	switch {
	case err != nil:
		return err
	case !differ && len(s.Changes)+len(s.Values) == 0:
		p.equal++
		p.rounds++
		if weights != "" {
			p.same = r.Round
		}
		return nil
	}
	p.at, s.Same = s, p.same
	return p.behind(r, q)
}

// behind looks in a row from where the studies part on for how far they are apart, and for weights that differ.
func (p *parting) behind(r, q store.Row) error {
	if r.Kind != q.Kind || r.Round != q.Round || r.Trial != q.Trial {
		return errParted
	}
	if r.Kind != store.KindRound {
		return nil
	}
	x, y, err := both(r, q)
	if err != nil {
		return err
	}
	d := distance(r.Round, x, y)
	if p.apart = append(p.apart, d); p.at.Other == 0 && d.Equal != nil && !*d.Equal {
		p.at.Other = r.Round
	}
	return nil
}

// both reads the records of two rounds.
func both(r, q store.Row) (x, y *record.Round, err error) {
	if x, err = record.Decode[record.Round](r.Kind, r.Data); err == nil {
		y, err = record.Decode[record.Round](q.Kind, q.Data)
	}
	return x, y, err
}

// changes are what clients returned in a round in which two studies have the same clients.
func changes(x, y *record.Round) []Change {
	all := []Change{}
	for slot, client := range x.Clients {
		c := Change{Client: client}
		for _, name := range slices.Sorted(maps.Keys(x.Tensors)) {
			if a, b := x.Tensors[name], y.Tensors[name]; slot < min(len(a), len(b)) && a[slot] != b[slot] {
				c.Tensors = append(c.Tensors, name)
			}
		}
		if c.Tensors != nil {
			all = append(all, c)
		}
	}
	return all
}

// Differing returns the values in which two JSON objects differ, by their paths.
func Differing(a, b []byte) ([]Pair, error) {
	x, err := flat(a)
	if err != nil {
		return nil, err
	}
	y, err := flat(b)
	return pairs(x, y), err
}

// flat returns the values of a JSON object by their paths, as text.
func flat(data []byte) (map[string]string, error) {
	all := map[string]string{}
	var add func(path string, v any)
	add = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, x := range v {
				add(strings.TrimPrefix(path+"."+name, "."), x)
			}
		case []any:
			for i, x := range v {
				add(fmt.Sprintf("%s[%d]", path, i), x)
			}
		default:
			if v != nil {
				all[path] = fmt.Sprint(v)
			}
		}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // all digits
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	add("", v)
	return all, nil
}

// pairs are the names with different values.
func pairs(a, b map[string]string) []Pair {
	all := []Pair{}
	names := map[string]string{}
	maps.Copy(names, a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if a[name] != b[name] {
			all = append(all, Pair{name, a[name], b[name]})
		}
	}
	return all
}
