package report

import (
	"strconv"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/fl/study/view"
)

// recallTable has the recall of each class that occurs, of the returned model on test samples, and how many
// samples of the class were predicted to be of which one, for few classes; nil where that is unknown.
func (s *Study) recallTable() *Table {
	for _, p := range view.Tests(s.Judged()) {
		if s.Errors() == nil || s.Errors().Evaluation == nil {
			break
		}
		m := p.Over(s.Errors().Evaluation).Measures
		if m == nil || m.Recall == nil {
			continue
		}
		t := &Table{Title: "Recall by class, " + p.Name, Head: []string{"class", "recall"}}
		for i := range m.Confusion {
			t.Head = append(t.Head, "predicted "+strconv.Itoa(i))
		}
		for i, r := range m.Recall {
			if r != nil {
				row := []string{strconv.Itoa(i), result.Scale{Percent: true}.Text(*r)}
				for j := range m.Confusion {
					row = append(row, count(m.Confusion[i][j]))
				}
				t.Rows = append(t.Rows, row)
			}
		}
		return t
	}
	return nil
}
