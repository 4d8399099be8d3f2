package repro

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/internal/stats"
)

// Chosen says where among an arm's client configurations FedEx' choice lies by one
// hyperparameter.
type Chosen struct {
	Param string `json:"hyperparameter"`
	// Rank is of arms that know theta's end, and of which one of the pair has learnt at
	// least: the share of the arm's other configurations whose value is below that of the
	// chosen one, equal ones counting half, in the mean by theta's probabilities. It is 0
	// where the smallest value is chosen, 1 where the largest is, and 0.5 in the mean of
	// arms by chance.
	Rank stats.Sample `json:"rank"`
}

// ranks collect the ranks of arms, by hyperparameter.
type ranks struct {
	params []string
	of     [][]float64
}

// add adds an arm, if it knows theta's end.
func (r *ranks) add(arm *TrialLine) {
	if len(arm.Theta) != len(arm.Configs) || len(arm.Configs) < 2 {
		return
	}
	for i, param := range arm.ConfigParams {
		at := slices.Index(r.params, param)
		if at < 0 {
			at = len(r.params)
			r.params, r.of = append(r.params, param), append(r.of, nil)
		}
		r.of[at] = append(r.of[at], rank(arm, i))
	}
}

// rank is the rank of theta's choice among the values of hyperparameter i.
func rank(arm *TrialLine, i int) float64 {
	total, mean := 0.0, 0.0
	for j, p := range arm.Theta {
		below := 0.0
		for k, other := range arm.Configs {
			switch {
			case k == j:
			case other[i] < arm.Configs[j][i]:
				below++
			case other[i] == arm.Configs[j][i]:
				below += 0.5
			}
		}
		total += p // four decimals a configuration do not add up to 1 exactly
		mean += float64(p * below / float64(len(arm.Configs)-1))
	}
	return mean / total
}

// chosen is what the arms say together.
func (r *ranks) chosen() []Chosen {
	var all []Chosen
	for i, param := range r.params {
		all = append(all, Chosen{Param: param, Rank: stats.Of(r.of[i])})
	}
	return all
}

// chosenTable has a line for each comparison and a column for each hyperparameter.
func (r *Report) chosenTable() Table {
	t := Table{
		Title: "what FedEx has chosen where one of a pair has learnt: the share of an arm's configurations with a smaller value than the chosen one (0: the smallest is chosen, 1: the largest, 0.5 by chance), with its 90 % interval",
		Head:  []string{"experiment", "arms"},
	}
	for i := range r.Verdicts {
		for _, c := range r.Verdicts[i].Pairs.Chosen {
			if !slices.Contains(t.Head, c.Param) {
				t.Head = append(t.Head, c.Param)
			}
		}
	}
	t.Head = append(t.Head, "variant")
	for i := range r.Verdicts {
		p := &r.Verdicts[i].Pairs
		if len(p.Chosen) == 0 || strings.Contains(p.Name, "/"+besideOwn+"/") { // the arms belong to the other comparison
			continue
		}
		row := make([]string, len(t.Head))
		row[0], row[1], row[len(row)-1] = p.Name, strconv.Itoa(p.Chosen[0].Rank.N), variantText(p.Variant)
		for _, c := range p.Chosen {
			row[slices.Index(t.Head, c.Param)] = withInterval(c.Rank)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
