package recorded

import (
	"slices"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/kernels"
	"github.com/fedfast/fedfast/tuners"
)

// Player lets one study take rows of a table.
type Player struct {
	// Near counts trials whose params no unused configuration had, which took the nearest one
	// instead, Again those that took a used one since all were used.
	Near, Again int

	table     *Table
	seed      uint64
	at        [][]float64 // the configurations in the unit cube
	used      []bool
	val, test []int
}

var _ study.Curves = (*Player)(nil)

// Player returns one for a study of a seed.
func (t *Table) Player(seed uint64) *Player {
	p := &Player{table: t, seed: seed, used: make([]bool, len(t.Configurations))}
	for _, c := range t.Configurations {
		p.at = append(p.at, t.space.Unit(c))
	}
	p.val, p.test, _ = t.Samples()
	return p
}

// Samples are the table's.
func (p *Player) Samples() (val, test []int, central int) { return p.val, p.test, p.table.Central }

// Take returns the training of the configuration that the params are, of several that of the
// trial's number, else of the nearest unused one. Of several seeds it is the study's, else one
// that is drawn.
func (p *Player) Take(trial int, params tuners.Params) *study.Recording {
	all := p.table.Configurations
	at := -1
	if trial < len(all) && !p.used[trial] && all[trial].Equal(params) {
		at = trial
	}
	if at < 0 {
		at = p.nearest(params)
		if !all[at].Equal(params) {
			p.Near++
		}
	}
	if p.used[at] {
		p.Again++
	}
	p.used[at] = true
	return p.table.training(at, p.seed, kernels.Key(p.seed, uint64(trial)))
}

// training returns the training of a configuration with a seed, without one that which the key
// draws.
func (t *Table) training(config int, seed, key uint64) *study.Recording {
	var rows []int
	for i := range t.Rows {
		if row := &t.Rows[i]; row.Config == config {
			if row.Seed == seed {
				return &t.Trained[i]
			}
			rows = append(rows, i)
		}
	}
	return &t.Trained[rows[key%uint64(len(rows))]]
}

// nearest returns the nearest configuration that is not used, of equal ones the first; of all if
// all are used.
func (p *Player) nearest(params tuners.Params) int {
	all := !slices.Contains(p.used, false)
	to := p.table.space.Unit(params)
	best, least := -1, 0.0
	for i, x := range p.at {
		if p.used[i] && !all {
			continue
		}
		sum := 0.0
		for k := range x {
			sum += float64((x[k] - to[k]) * (x[k] - to[k]))
		}
		if best < 0 || sum < least {
			best, least = i, sum
		}
	}
	return best
}
