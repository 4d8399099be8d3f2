package recorded

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/formats/parquet"
)

// central is the client of the errors on the federation's own test set.
const central = -1

// rowBytes is what a row of the file takes in memory at most while it is read.
const rowBytes = 48

// columns are the columns of the Parquet file.
var columns = []struct {
	name string
	kind parquet.Kind
}{
	{"config", parquet.Int64},
	{"seed", parquet.Int64},
	{"round", parquet.Int64},
	{"client", parquet.Int64},
	{"val_error", parquet.Double},
	{"test_error", parquet.Double},
	{"train_loss", parquet.Double},
	{"seconds", parquet.Double},
	{"bytes", parquet.Int64},
	{"dropped", parquet.Int64},
}

// writeRows writes the Parquet file, a group of rows for each training.
func (t *Table) writeRows(w io.Writer) error {
	f := parquet.NewWriter(w)
	for i := range t.Trained {
		if len(t.Trained[i].Points) == 0 {
			continue
		}
		group := make([]parquet.TableColumn, len(columns))
		for k, c := range columns {
			group[k] = parquet.TableColumn{Name: c.name, Kind: c.kind}
		}
		r := &t.Trained[i]
		for k := range r.Points {
			t.addPoint(group, &t.Rows[i], &r.Points[k])
		}
		if err := f.Group(group); err != nil {
			return err
		}
	}
	return f.Close()
}

// addPoint adds the rows of a recorded round.
func (t *Table) addPoint(group []parquet.TableColumn, row *Row, p *study.RecordedPoint) {
	add := func(client int, val, test float64) {
		for k, v := range []any{
			int64(row.Config), int64(row.Seed), int64(p.Round), int64(client), val, test, p.TrainLoss, p.Seconds, p.Bytes, int64(p.Dropped),
		} {
			group[k].Values = append(group[k].Values, v)
		}
	}
	if t.Central > 0 {
		add(central, math.NaN(), p.Central)
	}
	for client, val := range p.Val {
		test := math.NaN()
		if p.Test != nil {
			test = p.Test[client]
		}
		add(client, val, test)
	}
}

// readRows reads what writeRows wrote into the trainings that the head has named.
func (t *Table) readRows(path string, f *parquet.File) error {
	points := 0
	for i := range t.Rows {
		points += len(t.Rows[i].Recorded)
	}
	clients := len(t.Clients)
	if t.Central > 0 {
		clients++
	}
	if int64(points) != f.Rows/int64(clients) || f.Rows%int64(clients) != 0 {
		return fmt.Errorf("%s: %d rows, but the JSON file has %d clients at %d rounds", path, f.Rows, clients, points)
	}
	if err := f.Budget.Take(f.Rows * rowBytes); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	type place struct {
		point  *study.RecordedPoint
		client int
	}
	var places []place // by row of the file
	for i := range t.Rows {
		r := &t.Trained[i]
		r.Points = make([]study.RecordedPoint, len(t.Rows[i].Recorded))
		for k, round := range t.Rows[i].Recorded {
			p := &r.Points[k]
			p.Round, p.SHA256, p.Val, p.Central = round, t.Rows[i].SHA256[k], make([]float64, len(t.Clients)), math.NaN()
			if t.Central > 0 {
				places = append(places, place{p, central})
			} else {
				p.Test = make([]float64, len(t.Clients))
			}
			for c := range t.Clients {
				places = append(places, place{p, c})
			}
		}
	}
	take := map[string]func(at place, v parquet.Value) bool{
		"round":  func(at place, v parquet.Value) bool { return v.Int == int64(at.point.Round) },
		"client": func(at place, v parquet.Value) bool { return v.Int == int64(at.client) },
		"val_error": func(at place, v parquet.Value) bool {
			if at.client != central {
				at.point.Val[at.client] = v.Float
			}
			return true
		},
		"test_error": func(at place, v parquet.Value) bool {
			if at.client == central {
				at.point.Central = v.Float
			} else if at.point.Test != nil {
				at.point.Test[at.client] = v.Float
			}
			return true
		},
		"train_loss": func(at place, v parquet.Value) bool { at.point.TrainLoss = v.Float; return true },
		"seconds":    func(at place, v parquet.Value) bool { at.point.Seconds = v.Float; return true },
		"bytes":      func(at place, v parquet.Value) bool { at.point.Bytes = v.Int; return true },
		"dropped":    func(at place, v parquet.Value) bool { at.point.Dropped = int(v.Int); return true },
	}
	for _, c := range columns {
		if take[c.name] == nil {
			continue
		}
		at := slices.IndexFunc(f.Columns, func(have parquet.Column) bool { return len(have.Path) == 1 && have.Path[0] == c.name })
		if at < 0 || f.Columns[at].Kind != c.kind || f.Columns[at].Repeated {
			return fmt.Errorf("%s: no column %s as a table has it", path, c.name)
		}
		n := 0
		err := f.Each(context.Background(), &f.Columns[at], func(row int, v parquet.Value) error {
			if n = row; row > len(places) || !take[c.name](places[row-1], v) {
				return fmt.Errorf("row %d: %s is not that of the JSON file", row, c.name)
			}
			return nil
		})
		if err == nil && n != len(places) {
			err = fmt.Errorf("%d rows, but the JSON file has %d", n, len(places))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return t.finite(path)
}

// finite checks that clients with samples have errors.
func (t *Table) finite(path string) error {
	most := 1.0
	if t.Numbers() {
		most = math.MaxFloat64
	}
	val, test, _ := t.Samples()
	for i := range t.Trained {
		for _, p := range t.Trained[i].Points {
			for _, split := range []struct {
				name    string
				errs    []float64
				samples []int
			}{{"validation", p.Val, val}, {"test", p.Test, test}, {"test set's", []float64{p.Central}, []int{t.Central}}} {
				for c, e := range split.errs {
					if split.samples[c] > 0 && !(e >= 0 && e <= most) {
						return fmt.Errorf("%s: configuration %d, round %d, client %d: %s error %v", path, t.Rows[i].Config, p.Round, c, split.name, e)
					}
				}
			}
		}
	}
	return nil
}

// Samples are the clients' numbers of samples, as study.Curves has them.
func (t *Table) Samples() (val, test []int, central int) {
	for _, c := range t.Clients {
		val, test = append(val, c.Val), append(test, c.Test)
	}
	return val, test, t.Central
}

// error is the validation error of a training at a round, on all clients.
func (t *Table) error(r *study.Recording, round int) float64 {
	val, _, _ := t.Samples()
	return fl.Summarize(r.At(round).Val, val, t.Numbers()).Error
}

// Numbers says that the table is of a regression: the recorded errors are mean squared ones.
func (t *Table) Numbers() bool { return t.Measure == result.MeasureRMSE }
