package fl

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// CheckSubnets returns an error if the method's clients train the whole network.
func (m Method) CheckSubnets() error {
	if m.Subnet != nil {
		return nil
	}
	return fmt.Errorf("method %q trains the whole network; leave it out, or use method \"supernet\"", m.Name)
}

// CheckParams returns an error that names the first hyperparameter that is out of
// its range, or that the method cannot use as it is or would ignore silently, and
// what to do about it.
func (m Method) CheckParams(c ClientParams, s ServerParams) error {
	if err := cmp.Or(c.Check(), s.Check()); err != nil {
		return err
	}
	if err := m.CheckSubnets(); err != nil && c.Arch != "" {
		return fmt.Errorf("%s%s: %w", tuners.ArchPrefix, strings.Fields(c.Arch)[0], err)
	}
	v := hyper.Values{Client: c, Server: s}
	for _, u := range m.Uses {
		if err := u.Check(m.Name, &v); err != nil {
			return err
		}
	}
	for p := range hyper.All() {
		if p.Optional && p.Get(&v) != p.Default {
			if problem := m.Ignores(p.Name); problem != "" {
				return &key.Error{Key: p.Name, Problem: fmt.Sprintf(" = %s: %s", p.Literal(&v), problem)}
			}
		}
	}
	return nil
}

// Ignores returns what to say of a key of a study file, such as "client.mu", that the method does
// not use: that it does not, and which methods do. It returns "" for a key that the method uses,
// or that methods do not differ in.
func (m Method) Ignores(name string) string {
	users := Users(name)
	if len(users) == 0 || slices.Contains(m.Settings(), name) || slices.ContainsFunc(m.Uses, func(u hyper.Use) bool { return u.Key == name }) {
		return ""
	}
	return fmt.Sprintf("method %q does not use it; leave it out%s", m.Name, orUse(users))
}

// orUse offers methods to choose from.
func orUse(names []string) string {
	const most = 4
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return fmt.Sprintf(", or use method %q", names[0])
	case n > most:
		return ", or use one of the methods " + strings.Join(names[:most], ", ") + " ..."
	default:
		return ", or use one of the methods " + strings.Join(names, ", ")
	}
}

// heterogeneity returns the heterogeneity index of samples with the given counts
// of the classes: 1 - (c - 1) / (classes - 1) for c classes that they hold, 0 to 1.
// (FedTune)
func heterogeneity(counts []int) float64 {
	held := list.Count(counts, func(n int) bool { return n > 0 })
	if held == 0 || len(counts) < 2 {
		return 1
	}
	return 1 - float64(held-1)/float64(len(counts)-1)
}

// Lookup returns what a client of the federation, unseen ones after the others, takes from a table: the cell
// nearest in HI, of several the nearest in Samples, of several the first. Both are
// facts about all samples that the client holds, as in FedTune's paper, not about
// those alone that it trains on: its training and validation examples, and its
// test examples unless they are the files' own. The error names examples which
// cannot be read.
func (e *Engine) Lookup(table []hyper.Cell, client int) (ClientParams, error) {
	c := e.client(client)
	views := []data.View{c.Train, c.Val}
	if !e.cfg.Data.FilesTest {
		views = append(views, c.Test)
	}
	counts, samples := make([]int, e.cfg.Data.Classes), 0
	for _, v := range views {
		samples += v.Len()
		own, err := v.ClassCounts(len(counts))
		if err != nil {
			return ClientParams{}, err
		}
		for class, n := range own {
			counts[class] += n
		}
	}
	return lookup(table, heterogeneity(counts), float64(samples)), nil
}

// lookup finds a cell. Distances within rounding of each other are equal, so that
// a client midway between two columns takes the first.
func lookup(table []hyper.Cell, hi, samples float64) ClientParams {
	const equal = 1e-9
	best := 0
	for i, c := range table {
		d, least := math.Abs(c.HI-hi), math.Abs(table[best].HI-hi)
		if d < least-equal || d <= least+equal && math.Abs(c.Samples-samples) < math.Abs(table[best].Samples-samples) {
			best = i
		}
	}
	return table[best].Params
}

// checkTable returns an error for a plan that holds both a table and
// hyperparameters of slots.
func (p Plan) checkTable() error {
	if len(p.Table) > 0 && len(p.Clients) > 0 {
		return fmt.Errorf("plan has a table and %d client configurations: only one of the two can be", len(p.Clients))
	}
	return nil
}
