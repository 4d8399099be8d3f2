package plan

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/regular"
)

// columns are the names that the columns of a log may have, by what they hold.
var columns = map[string]string{
	"error": "error", "test_error": "error", "accuracy": "accuracy", "loss": "loss", "train_loss": "loss",
}

// mostBytes bounds a log.
const mostBytes = 16 << 20

// readLog reads a CSV file with the columns round and error, accuracy or loss. share says that errors are shares.
func readLog(path string, share bool) (column string, log []figure.Point, err error) {
	file, err := regular.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = file.Close() }() // it was read only
	if info, err := file.Stat(); err != nil || info.Size() > mostBytes {
		return "", nil, cmp.Or(err, fmt.Errorf("%s: must be at most %d MB", path, mostBytes>>20))
	}
	r := csv.NewReader(file)
	r.TrimLeadingSpace = true
	at, line := map[string]int{}, 1
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%s:%d: "+format, append([]any{path, line}, args...)...)
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", path, err)
		}
		if line, _ = r.FieldPos(0); len(at) == 0 {
			for i, name := range row {
				name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
				if what := columns[name]; what != "" {
					name, column = what, what
				}
				at[name] = i
			}
			if _, ok := at["round"]; !ok || column == "" {
				return "", nil, bad("has the columns %.100q; must have round, and error, accuracy or loss", strings.Join(row, ","))
			}
			continue
		}
		round, err := strconv.ParseUint(strings.TrimSpace(row[at["round"]]), 10, 31)
		x, wrong := strconv.ParseFloat(strings.TrimSpace(row[at[column]]), 64)
		switch n := len(log); {
		case err != nil || n > 0 && float64(round) <= log[n-1].X:
			return "", nil, bad("round %.40q: must be an integer above that of the row before", row[at["round"]])
		case wrong != nil || !(math.Abs(x) <= math.MaxFloat64) || x < 0:
			return "", nil, bad("%s %.40q: must be a number from 0 on", column, row[at[column]])
		case x > 1 && (column == "accuracy" || column == "error" && share):
			return "", nil, bad("%s %v: must be a share from 0 to 1, such as 0.15 for 15 %%", column, x)
		}
		if column == "accuracy" {
			x = 1 - x
		}
		log = append(log, figure.Point{X: float64(round), Y: x})
	}
	if len(log) == 0 {
		return "", nil, bad("has no rows; must have the columns round, and error, accuracy or loss, and a row for each round")
	}
	return column, log, nil
}

// band is what runs predict of errors or losses by round: the mean and half the width of the interval in which one
// more training lies with a probability of 90 %.
func (t *trained) band(column string) (b []figure.Point) {
	rounds, all := t.curve()
	if column == "loss" {
		rounds, all = nil, nil
		for i := range slices.Min(list.Of(t.runs, func(r *result.RunResult) int { return len(r.TrainLoss) })) {
			losses := list.Of(t.runs, func(r *result.RunResult) float64 { return r.TrainLoss[i] })
			rounds, all = append(rounds, i+1), append(all, losses)
		}
	}
	for i, r := range rounds {
		if s := stats.Known(all[i]); s.N > 1 {
			half := stats.Student(float64(s.N-1)) * s.SD * math.Sqrt(1+1/float64(s.N))
			b = append(b, figure.Point{X: float64(r), Y: s.Mean, Half: half})
		}
	}
	return b
}

// beside are the points of a log within a band, those of the band at their rounds, on a line between measured ones,
// and the root of the mean squared distance.
func beside(log, band []figure.Point) (own, predicted []figure.Point, far float64) {
	for _, e := range log {
		i := slices.IndexFunc(band, func(p figure.Point) bool { return p.X >= e.X })
		if i < 0 || i == 0 && band[0].X > e.X {
			continue
		}
		q := band[i]
		if q.X > e.X {
			p, t := band[i-1], (q.X-e.X)/(q.X-band[i-1].X)
			q = figure.Point{X: e.X, Y: q.Y + t*(p.Y-q.Y), Half: q.Half + t*(p.Half-q.Half)}
		}
		own, predicted, far = append(own, e), append(predicted, q), far+(e.Y-q.Y)*(e.Y-q.Y)
	}
	return own, predicted, math.Sqrt(far / float64(len(own)))
}

// Up to usually of the rounds of a log may lie outside of the interval, and at the end fewer than enoughRows on one
// side, which is also how many rounds a log must have.
const usually, enoughRows = 0.2, 3

// Check compares the log of a real federation with what the plan's runs predict: it is the first of the answers.
func (all *Answers) Check(f *Found, path string) error {
	column, log, err := readLog(path, f.share)
	if err != nil {
		return err
	}
	band := f.of[federate][0].band(column)
	own, predicted, far := beside(log, band)
	if n := len(band) - 1; len(own) == 0 && n >= 0 {
		return fmt.Errorf("%s: has rounds %v to %v; must have some of the predicted %v to %v", path, log[0].X,
			log[len(log)-1].X, band[0].X, band[n].X)
	} else if n < 0 {
		return errors.New("the plan's own trainings diverged, so that it predicts nothing")
	}
	rows := len(own)
	var out [2][]int // places below and above
	for i, p := range predicted {
		if d := own[i].Y - p.Y; d < -p.Half {
			out[0] = append(out[0], i)
		} else if d > p.Half {
			out[1] = append(out[1], i)
		}
	}
	outside, verdict := len(out[0])+len(out[1]), ""
	words, places := "faster", out[0]
	if len(out[1]) >= len(out[0]) {
		words, places = "slower", out[1]
	}
	n := len(places)
	drifts := n >= enoughRows && places[n-enoughRows] == rows-enoughRows
	switch {
	case rows < enoughRows:
		verdict = "too few rounds to tell"
	case !drifts && float64(outside) <= max(1, usually*float64(rows)):
		verdict = fmt.Sprintf("within: %d of %d rounds are in the interval", rows-outside, rows)
	default:
		for drifts && len(places) > enoughRows && places[0]+len(places) != rows { // until all from the first on are
			places = places[1:]
		}
		verdict = fmt.Sprintf("%s from round %v", words, own[places[0]].X)
		if last := places[len(places)-1]; last < rows-1 {
			verdict += fmt.Sprintf(" to %v", own[last].X)
		}
		likely := ""
		for _, t := range f.of["rate"] {
			if _, _, d := beside(log, t.band(column)); 2*d < far {
				far, likely = 2*d, fmt.Sprintf("; other learning rate likely: as with client.lr=%v instead of %v", t.x,
					round2(f.tuned.Client.LR))
			}
		}
		verdict += likely
	}
	lines := []figure.Line{
		{Name: "predicted, 90 % interval of one more training", Points: band}, {Name: "the real federation", Points: own},
	}
	drawn := *f
	drawn.share = f.share && column != "loss"
	a := &Answer{ID: "check", Question: "Does it go as planned?", Answer: []string{view.Sentence(verdict)}}
	if a.figure = drawn.draw(a.ID, figure.Axis{Label: "round", Zero: true}, lines...); column == "loss" {
		a.figure.Title, a.figure.Panels[0].Y.Label = "Training loss by round", "training loss"
	}
	all.Answers = slices.Insert(all.Answers, 0, a)
	return nil
}
