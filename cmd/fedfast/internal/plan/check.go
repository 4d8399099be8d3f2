package plan

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/report"
	"github.com/fedfast/fedfast/fl/study/view"
	"github.com/fedfast/fedfast/internal/figure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// columns are what is read of a log, by what programs call it. Of the values one is read, the first here.
var columns = [][2]string{
	{"round", `(?i)^\s*((server|current|global)[ _-]?)?rounds?\s*$`},
	{"error", `(?i)^\s*((test|eval|global)[ _-]?)?(error|rmse)\s*$`},
	{"accuracy", `(?i)^\s*((test|eval|global)[ _-]?)?acc(uracy)?\s*$`},
	{"loss", `(?i)^\s*(train(ing)?[ _-]?)?loss\s*$`},
}

// readLog reads a CSV file with the columns round and error, accuracy or loss, which is named. Rows without a value are
// passed over; shares are at most 1, and errors are what is returned of accuracies.
func readLog(path string, share bool) (column string, points []Point, err error) {
	text, err := wholefile.Read(path)
	if err != nil {
		return "", nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	r := csv.NewReader(bytes.NewReader(text))
	head, _, _ := bytes.Cut(text, []byte("\n"))
	if i := bytes.IndexAny(head, "\t;"); i >= 0 {
		r.Comma = rune(head[i])
	}
	rows, err := r.ReadAll()
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	var at []int
	for _, c := range columns {
		i := slices.IndexFunc(append(rows, nil)[0], regexp.MustCompile(c[1]).MatchString)
		if i >= 0 && len(at) < 2 {
			column, at = c[0], append(at, i)
		}
	}
	if len(at) < 2 || len(rows) < 2 {
		const form = "%s: must have the columns round, and error, accuracy or loss, and a row for each round"
		return "", nil, fmt.Errorf(form, path)
	}
	last := -1.0
	for i, row := range rows[1:] {
		round, x, value := number(row[at[0]]), number(row[at[1]]), strings.TrimSpace(row[at[1]])
		ratio := column == "accuracy" || share && column == "error"
		what, must := fmt.Sprintf("%s %.40q", column, value), ""
		switch {
		case !(round > last && round <= math.MaxInt32 && round == math.Trunc(round)):
			what, must = fmt.Sprintf("round %.40q", row[at[0]]), "an integer above the one before"
		case value == "":
		case !(x >= 0 && x <= math.MaxFloat64):
			must = "a number from 0 on"
		case ratio && x > 1:
			must = "a share, such as 0.15 or 15 %"
		case column == "accuracy":
			points = append(points, Point{X: round, Error: stats.Sample{Mean: 1 - x}})
		default:
			points = append(points, Point{X: round, Error: stats.Sample{Mean: x}})
		}
		if last = round; must != "" {
			return "", nil, fmt.Errorf("%s: row %d: %s: must be %s", path, i+1, what, must)
		}
	}
	return column, points, nil
}

// number reads a number that may have a decimal comma, or be in percent; NaN for none.
func number(text string) float64 {
	text, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.Replace(strings.TrimSpace(text), ",", ".", 1), 64)
	if err != nil {
		return math.NaN()
	}
	return x / map[bool]float64{true: 100, false: 1}[percent]
}

// band is what runs predict of errors or losses by round: the mean and half the width of the interval in which one
// more training lies with a probability of 90 %.
func (s *study) band(column string) []Point {
	all := list.Where(s.curve(column == "loss"), func(p Point) bool { return p.Error.N > 1 })
	for i := range all {
		all[i].Error.Half *= math.Sqrt(float64(all[i].Error.N) + 1)
	}
	return all
}

// beside are the points of a log within a band, those of the band at their rounds, on a line between measured ones,
// and the root of the mean squared distance.
func beside(log, band []Point) (own, predicted []Point, far float64) {
	for _, e := range log {
		i := slices.IndexFunc(band, func(p Point) bool { return p.X >= e.X })
		if i < 0 || i == 0 && band[0].X > e.X {
			continue
		}
		q := band[i]
		if q.X > e.X {
			p, t := band[i-1], (q.X-e.X)/(q.X-band[i-1].X)
			q.X = e.X
			q.Error.Mean, q.Error.Half = q.Error.Mean+t*(p.Error.Mean-q.Error.Mean), q.Error.Half+t*(p.Error.Half-q.Error.Half)
		}
		d := e.Error.Mean - q.Error.Mean
		own, predicted, far = append(own, e), append(predicted, q), far+d*d
	}
	return own, predicted, math.Sqrt(far / float64(len(own)))
}

// Up to usually of the rounds of a log may lie outside of the interval, and at the end fewer than enoughRows on one
// side, which is also how many rounds a log must have.
const usually, enoughRows = 0.2, 3

// Check compares the log of a real federation with what the plan's runs predict: it is the first of the answers.
func (all *Answers) Check(path string) error {
	column, log, err := readLog(path, all.share)
	if err != nil {
		return err
	}
	band := all.of[federate][0].band(column)
	own, predicted, far := beside(log, band)
	if len(own) == 0 {
		return fmt.Errorf("%s: has none of the rounds that the plan predicts, which has %d", path, all.Rounds)
	}
	verdict, odd := compare(own, predicted)
	likely := ""
	for _, t := range all.of["rate"] {
		if _, _, d := beside(log, t.band(column)); odd && 2*d < far {
			const form = "; other learning rate likely: as with client.lr=%v instead of %.2g"
			far, likely = 2*d, fmt.Sprintf(form, t.X, all.best.Client.LR)
		}
	}
	drawn := *all.Plan
	drawn.share = all.share && column != "loss"
	a := &Answer{Question: report.Question{ID: "check", Text: "Does it go as planned?"}, plan: &drawn}
	a.Answer, a.axis = []string{view.Sentence(verdict + likely)}, figure.Axis{Label: "round", Zero: true}
	a.draw(drawn.line("predicted, 90 % interval of one more training", band), drawn.line("the real federation", own))
	if column == "loss" {
		a.Figure.Title, a.Figure.Panels[0].Y.Label = "Training loss by round", "training loss"
	}
	all.Answers = slices.Insert(all.Answers, 0, a)
	return nil
}

// compare says in words where the rows of a log lie beside predicted ones, and whether that is out of the ordinary.
func compare(own, predicted []Point) (verdict string, odd bool) {
	where := strings.Repeat(".", len(own)) // in the interval, + above it, - below
	for i, p := range predicted {
		if d := own[i].Error.Mean - p.Error.Mean; math.Abs(d) > p.Error.Half {
			where = where[:i] + map[bool]string{true: "+", false: "-"}[d > 0] + where[i+1:]
		}
	}
	side, word := "+", "slower"
	if strings.Count(where, "-") > strings.Count(where, "+") {
		side, word = "-", "faster"
	}
	last := strings.LastIndex(where, side)
	first, within := len(strings.TrimRight(where[:last+1], side)), strings.Count(where, ".")
	switch {
	case len(own) < enoughRows:
		return "too few rounds to tell", false
	case !strings.HasSuffix(where, strings.Repeat(side, enoughRows)) &&
		float64(len(own)-within) <= max(1, usually*float64(len(own))):
		return fmt.Sprintf("within: %d of %d rounds are in the interval", within, len(own)), false
	case last < len(own)-1:
		return fmt.Sprintf("%s from round %v to %v", word, own[first].X, own[last].X), true
	}
	return fmt.Sprintf("%s from round %v", word, own[first].X), true
}
