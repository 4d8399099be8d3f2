package export

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/internal/formats/parquet"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/sys/wholefile"
)

// groupRows is how many rows a group of a Parquet file has.
const groupRows = 1 << 16

// columns are the columns of the file: the client and which of its sets, the number of
// the example in it and the place in its sequence (0 for one label an example),
// both from 0, the true and the predicted class, the latter's probability and, of models with few classes and one
// label an example, p0, p1 and so on, the probability of each class.
func columns(classes int) []parquet.TableColumn {
	all := []parquet.TableColumn{
		{Name: "client", Kind: parquet.ByteArray},
		{Name: "split", Kind: parquet.ByteArray},
		{Name: "example", Kind: parquet.Int64},
		{Name: "step", Kind: parquet.Int64},
		{Name: "label", Kind: parquet.Int64},
		{Name: "predicted", Kind: parquet.Int64},
		{Name: "probability", Kind: parquet.Double},
	}
	for k := range classes {
		all = append(all, parquet.TableColumn{Name: "p" + strconv.Itoa(k), Kind: parquet.Double})
	}
	return all
}

// targetColumns returns the columns for numeric targets and for several labels per
// example: instead of classes, the index of an output, from 0, its target (0 or 1 for
// a label) and its prediction (a probability for a label).
func targetColumns() []parquet.TableColumn {
	return []parquet.TableColumn{
		{Name: "client", Kind: parquet.ByteArray},
		{Name: "split", Kind: parquet.ByteArray},
		{Name: "example", Kind: parquet.Int64},
		{Name: "output", Kind: parquet.Int64},
		{Name: "target", Kind: parquet.Double},
		{Name: "predicted", Kind: parquet.Double},
	}
}

// CheckPredictions returns an error for the name of a file of Predictions that says no
// format.
func CheckPredictions(path string) error {
	if ext := filepath.Ext(path); ext != ".parquet" && ext != ".csv" {
		return fmt.Errorf("%s: file name must end in .parquet or .csv", path)
	}
	return nil
}

// Predictions writes what weights predict of every client's samples, of the given sets,
// into a file, one row for each label or output: as Parquet if its name ends in .parquet,
// as CSV if in .csv. The samples of the federation's own test set have no client. The file
// stands under its name once it is whole.
func Predictions(ctx context.Context, s study.Setup, weights []float32, splits []string, path string) (err error) {
	f, err := create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.to.Close()) }()
	targets := s.Model.TargetsPerExample()
	if f.rows = targetColumns(); targets == 0 {
		f.rows = columns(fl.Probabilities(s.Model))
	}
	if err := f.begin(); err != nil {
		return err
	}
	err = study.Predict(ctx, s, weights, splits, func(p fl.Predictions) error {
		client := "" // of the data's own test set
		if p.Client >= 0 {
			client = s.Data.Clients[p.Client].ID
		}
		if targets > 0 {
			return f.addTargets(client, p, targets)
		}
		return f.add(client, p, s.Model.LabelsPerExample())
	})
	if err != nil {
		return err
	}
	return f.commit()
}

// predictions is a file that is being written.
type predictions struct {
	to      *wholefile.File
	parquet *parquet.Writer
	csv     *csv.Writer
	rows    []parquet.TableColumn // that wait for their group
}

// create begins a file in the format that its name says.
func create(path string) (*predictions, error) {
	if err := CheckPredictions(path); err != nil {
		return nil, err
	}
	out, err := wholefile.Create(path, 0o644)
	if err != nil {
		return nil, err
	}
	f := &predictions{to: out}
	if filepath.Ext(path) == ".parquet" {
		f.parquet = parquet.NewWriter(out)
		return f, nil
	}
	f.csv = csv.NewWriter(out)
	return f, nil
}

// begin names the columns, before anything is added.
func (f *predictions) begin() error {
	if f.csv == nil {
		return nil
	}
	head := list.Of(f.rows, func(c parquet.TableColumn) string { return c.Name })
	return f.csv.Write(head)
}

// addTargets adds the predictions for a client's examples, with perExample targets each.
func (f *predictions) addTargets(client string, p fl.Predictions, perExample int) error {
	for i, target := range p.Targets {
		if err := f.row(client, p.Split, int64(i/perExample), int64(i%perExample), float64(target), float64(p.Outputs[i])); err != nil {
			return err
		}
	}
	return nil
}

// add adds the predictions for a client's examples, with perExample labels each.
// Masked labels are left out.
func (f *predictions) add(client string, p fl.Predictions, perExample int) error {
	for i, label := range p.Labels {
		if label < 0 {
			continue
		}
		values := []any{client, p.Split, int64(i / perExample), int64(i % perExample), int64(label)}
		values = append(values, int64(p.Best[i].Class), float64(p.Best[i].Probability))
		for len(p.Probabilities) > 0 && len(values) < len(f.rows) {
			values, p.Probabilities = append(values, p.Probabilities[0]), p.Probabilities[1:]
		}
		if err := f.row(values...); err != nil {
			return err
		}
	}
	return nil
}

// row adds one row, a value a column.
func (f *predictions) row(values ...any) error {
	if f.csv != nil {
		cells := make([]string, len(values))
		for i, v := range values {
			if x, ok := v.(float64); ok {
				cells[i] = strconv.FormatFloat(x, 'g', -1, 32)
			} else {
				cells[i] = fmt.Sprint(v)
			}
		}
		return f.csv.Write(cells)
	}
	for i, v := range values {
		f.rows[i].Values = append(f.rows[i].Values, v)
	}
	if len(f.rows[0].Values) < groupRows {
		return nil
	}
	return f.flush()
}

// flush writes the rows that wait.
func (f *predictions) flush() error {
	err := f.parquet.Group(f.rows)
	for i := range f.rows {
		f.rows[i].Values = f.rows[i].Values[:0]
	}
	return err
}

// commit ends the file and gives it its name.
func (f *predictions) commit() error {
	var err error
	if f.parquet != nil {
		err = errors.Join(f.flush(), f.parquet.Close())
	} else {
		f.csv.Flush()
		err = f.csv.Error()
	}
	if err != nil {
		return err
	}
	return f.to.Commit()
}
