package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/tuners"
)

// Plan returns what is wrong with the answer of a session to a PlanRound: params
// that the tuner does not control, that lie outside of the space or that are not
// finite, and plans for another number of slots. The error names the tuner and the
// round, and wraps ErrBadAnswer.
func Plan(about tuners.Description, space tuners.Space, r tuners.PlanRequest, plan tuners.Plan) error {
	where := fmt.Sprintf("PlanRound (trial %d, round %d)", r.Trial, r.Round)
	if err := table(about, space, plan); err != nil {
		return bad(about.Name, where, "%v", err)
	}
	if n := len(plan.Clients); n != 1 && n != r.Slots && len(plan.Table) == 0 {
		return bad(about.Name, where, "params for %d slots, want 1 for all or %d", n, r.Slots)
	}
	if err := controlled(about, space, plan.Server); err != nil {
		return bad(about.Name, where, "server: %v", err)
	}
	for i, p := range plan.Clients {
		if err := controlled(about, space, p); err != nil {
			return bad(about.Name, where, "slot %d: %v", i, err)
		}
	}
	if err := controlled(about, space, plan.Likeliest); err != nil {
		return bad(about.Name, where, "likeliest: %v", err)
	}
	if p := plan.Probability; !(p >= 0 && p <= 1) || (p > 0) != (plan.Likeliest != nil) {
		return bad(about.Name, where, "probability %v: must be above 0 and at most 1 with likeliest params, and 0 without", p)
	}
	if err := notes(plan.Notes); err != nil {
		return bad(about.Name, where, "notes: %v", err)
	}
	return nil
}

// notes checks what a plan tells people.
func notes(all map[string][]float64) error {
	if len(all) > tuners.MaxNotes {
		return fmt.Errorf("%d notes: at most %d are allowed", len(all), tuners.MaxNotes)
	}
	numbers := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := (text{"note", name, maxName}).check(); err != nil {
			return err
		}
		for _, x := range all[name] {
			if !det.Finite(x) {
				return fmt.Errorf("%s holds %v; numbers must be finite", name, x)
			}
		}
		numbers += len(all[name])
	}
	if numbers > tuners.MaxNoteNumbers {
		return fmt.Errorf("%d numbers in total: at most %d are allowed", numbers, tuners.MaxNoteNumbers)
	}
	return nil
}

// table checks the cells of a plan.
func table(about tuners.Description, space tuners.Space, plan tuners.Plan) error {
	switch {
	case len(plan.Table) == 0:
		return nil
	case !about.Tables:
		return errors.New("plan with a table, but its description does not declare tables")
	case len(plan.Clients) > 0:
		return errors.New("plan with both a table and params for slots")
	}
	return cells(about, space, plan.Table)
}

// cells checks the cells of a table.
func cells(about tuners.Description, space tuners.Space, table []tuners.Cell) error {
	for i, cell := range table {
		for _, key := range slices.Sorted(maps.Keys(cell.Keys)) {
			if x := cell.Keys[key]; key != tuners.KeyHI && key != tuners.KeySamples || !det.Finite(x) {
				return fmt.Errorf("cell %d: its key %s = %v is not a finite %s or %s", i, key, x, tuners.KeyHI, tuners.KeySamples)
			}
		}
		if err := controlled(about, space, cell.Params); err != nil {
			return fmt.Errorf("cell %d: %w", i, err)
		}
	}
	return nil
}

// controlled checks values that a client tuner sets: controlled names only, inside
// of the space where it has the name and the tuner is not free to leave it, finite
// elsewhere.
func controlled(about tuners.Description, space tuners.Space, p tuners.Params) error {
	for _, name := range p.Keys() {
		value, _ := p[name].Text()
		for _, t := range []text{{"param", name, maxName}, {name, value, maxDoc}} {
			if err := t.check(); err != nil {
				return err
			}
		}
		if !tuners.Matches(name, about.Controls...) {
			return fmt.Errorf("%s is not one of the params that it controls", name)
		}
		if d, ok := space.Dim(name); ok && !about.Free {
			if err := d.Contains(p[name]); err != nil {
				return err
			}
			continue
		}
		if x, ok := p[name].Float(); ok && !det.Finite(x) || p[name].Kind() == tuners.NoneValue {
			return fmt.Errorf("%s = %s is not a finite value", name, p[name])
		}
	}
	return nil
}
