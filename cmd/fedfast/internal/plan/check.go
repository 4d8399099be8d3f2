package plan

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// Log is what a real federation came to.
type Log struct {
	path, column string
	points       []figure.Point
}

// ReadLog reads a CSV file with the columns round and error, accuracy or loss.
func ReadLog(path string) (*Log, error) {
	text, err := wholefile.Read(path)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	r.TrimLeadingSpace = true
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	log, round, value := &Log{path: path}, -1, -1
	for i, name := range append(rows, nil)[0] {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "round":
			round = i
		case "error", "accuracy", "loss":
			log.column, value = name, i
		}
	}
	if round < 0 || value < 0 || len(rows) < 2 {
		return nil, fmt.Errorf("%s: must have the columns round, and error, accuracy or loss, and a row for each round", path)
	}
	for i, row := range rows[1:] {
		at, bad := strconv.ParseUint(strings.TrimSpace(row[round]), 10, 31)
		x, wrong := strconv.ParseFloat(strings.TrimSpace(row[value]), 64)
		if bad != nil || i > 0 && float64(at) <= log.points[i-1].X {
			return nil, fmt.Errorf("%s: row %d: round %.40q: must be an integer above the one before", path, i+1, row[round])
		}
		if wrong != nil || !(x >= 0 && x <= math.MaxFloat64) {
			return nil, fmt.Errorf("%s: row %d: %s %.40q: must be a number from 0 on", path, i+1, log.column, row[value])
		}
		log.points = append(log.points, figure.Point{X: float64(at), Y: x})
	}
	return log, nil
}

// band is what runs predict of errors or losses by round: the mean and half the width of the interval in which one
// more training lies with a probability of 90 %.
func (t *trained) band(column string) (b []figure.Point) {
	all := t.curve()
	if column == "loss" {
		n := slices.Min(list.Of(t.runs, func(r *result.RunResult) int { return len(r.TrainLoss) }))
		all = list.Made(n, func(i int) Point {
			return Point{X: float64(i + 1), Error: t.mean(func(r *result.RunResult) float64 { return r.TrainLoss[i] })}
		})
	}
	for _, p := range all {
		if s := p.Error; s.N > 1 {
			b = append(b, figure.Point{X: p.X, Y: s.Mean, Half: s.Half * math.Sqrt(float64(s.N)+1)})
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
func (all *Answers) Check(f *Found, log *Log) error {
	drawn := *f
	drawn.share = f.share && log.column != "loss"
	for i, p := range log.points {
		if p.Y > 1 && (drawn.share || log.column == "accuracy") {
			return fmt.Errorf("%s: row %d: %s %v: must be a share, such as 0.15 for 15 %%", log.path, i+1, log.column, p.Y)
		} else if log.column == "accuracy" {
			log.points[i].Y = 1 - p.Y
		}
	}
	band := f.of[federate][0].band(log.column)
	own, predicted, far := beside(log.points, band)
	if len(own) == 0 {
		return fmt.Errorf("%s: has none of the rounds that the plan predicts, which has %d", log.path, all.Rounds)
	}
	verdict, odd := compare(own, predicted)
	likely := ""
	for _, t := range f.of["rate"] {
		if _, _, d := beside(log.points, t.band(log.column)); odd && 2*d < far {
			const form = "; other learning rate likely: as with client.lr=%v instead of %.2g"
			far, likely = 2*d, fmt.Sprintf(form, t.X, f.best.Client.LR)
		}
	}
	a := &Answer{Question: report.Question{ID: "check", Text: "Does it go as planned?"}}
	a.Answer, a.axis = []string{view.Sentence(verdict + likely)}, figure.Axis{Label: "round", Zero: true}
	a.Figure = drawn.draw(a, figure.Line{Name: "predicted, 90 % interval of one more training", Points: band},
		figure.Line{Name: "the real federation", Points: own})
	if log.column == "loss" {
		a.Figure.Title, a.Figure.Panels[0].Y.Label = "Training loss by round", "training loss"
	}
	all.Answers = slices.Insert(all.Answers, 0, a)
	return nil
}

// compare says in words where the rows of a log lie beside predicted ones, and whether that is out of the ordinary.
func compare(own, predicted []figure.Point) (verdict string, odd bool) {
	rows, words := len(own), "slower"
	var above, below []int
	for i, p := range predicted {
		if d := own[i].Y - p.Y; d > p.Half {
			above = append(above, i)
		} else if d < -p.Half {
			below = append(below, i)
		}
	}
	outside := len(above) + len(below)
	if len(below) > len(above) {
		above, words = below, "faster"
	}
	n := len(above)
	ends := n >= enoughRows && above[n-enoughRows] == rows-enoughRows
	if rows < enoughRows {
		return "too few rounds to tell", false
	} else if !ends && float64(outside) <= max(1, usually*float64(rows)) {
		return fmt.Sprintf("within: %d of %d rounds are in the interval", rows-outside, rows), false
	}
	first, last := n-1, above[n-1]
	for first > 0 && above[first-1] == above[first]-1 { // where the last row without a gap begins
		first--
	}
	verdict = fmt.Sprintf("%s from round %v", words, own[above[first]].X)
	if last < rows-1 {
		verdict += fmt.Sprintf(" to %v", own[last].X)
	}
	return verdict, true
}
