package repro

import (
	"fmt"
	"math"
	"strings"

	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/stats"
)

// What is said of a claim of which nothing was run, and the verdict on it.
const notRun, open = "not run", "open"

// notShown is the verdict on a claim that the numbers do not decide.
const notShown = "not shown"

// AbstractClaims lays what the papers' abstracts claim beside what the papers print of it,
// with its own interval, and beside what the metrics say.
func AbstractClaims(all []*Metrics) (Table, error) {
	var cells []Cell
	for _, c := range Cells() {
		switch name, _, _ := strings.Cut(c.Name, "/"); name {
		case "fedex-table1", "fedex-paired", "fedtune-table1", "fedtune-table2", staticName, siteName, "perfedrlnas":
			cells = append(cells, c)
		}
	}
	r, err := NewReport(cells, all)
	if err != nil {
		return Table{}, err
	}
	t := Table{
		Title: "the claims of the papers' abstracts: what the papers print, with its own 90 % interval (Welch, where they tell enough), and what was measured here",
		Head:  []string{"claim", "paper", "here", "verdict"},
	}
	const several, unprinted = "FedEx: several points lower error than the wrapper alone, ", "not printed"
	arms := func(set string) (ours, verdict string) { return r.armsSay("fedex-paired/" + set) }
	shakespeare, shown := arms("shakespeare")
	t.Rows = append(t.Rows, []string{"FedEx, workshop: lower error than the baseline, Shakespeare", "1.0 to 1.9 points (5 seeds); interval " + unprinted, shakespeare, shown})
	for _, set := range []struct{ name, title, paired string }{
		{"shakespeare", "Shakespeare", "shakespeare"}, {"femnist", "FEMNIST", "femnist-iid"}, {"cifar10", "CIFAR-10", "cifar10"},
	} {
		ours, verdict := arms(set.paired)
		published, interval := publishedGains("fedex-table1/" + set.name)
		t.Rows = append(t.Rows, []string{several + set.title, published + "; " + interval, ours, verdict})
	}
	t.Rows = append(t.Rows, []string{
		"FedEx: a variant tunes the clients' step size (Theorem 4.1)",
		"regret of at most ((m/tau)^(1/3) + V) m^(1/2)", "0.39 after 16,384 tasks, bound 1.81 (`TestRegretOfTheorem41` of " +
			"internal/tuner/fedex)", "holds",
	})

	gain := func(sets ...fedtuneSet) string {
		texts := list.Of(sets, func(set fedtuneSet) string { return plain(set.Accuracy[1]-set.Accuracy[0], 1) })
		return strings.Join(texts, ", ")
	}
	ours, verdict := r.fedtuneSays("fmnist")
	t.Rows = append(t.Rows, []string{"FedTune: up to 6 points better than global tuning, Fashion-MNIST", gain(papers().FedTune[3]) + "; one run", ours, verdict})
	ours, verdict = r.fedtuneSays("cifar10")
	t.Rows = append(t.Rows,
		[]string{"FedTune: up to 4 points, CIFAR-10", gain(papers().FedTune[1]) + "; one run", ours, verdict},
		[]string{"FedTune: up to 7 and 4 points, FEMNIST and CIFAR-100", gain(papers().FedTune[0], papers().FedTune[2]) + "; one run", notRun, open})
	order, agrees := r.orderSays()
	t.Rows = append(t.Rows, []string{"FedTune: rates rise with a client's heterogeneity (Table 2)", "rank correlation 1 in each of 4 columns", order, agrees})

	for i, what := range []string{"fewer rounds", "fewer local gradients"} {
		published, interval := publishedStatic(papers().Fathom.FEMNIST.Rows, i)
		ours, verdict := r.staticSays(staticName, i)
		t.Rows = append(t.Rows, []string{"FATHOM: " + what + " than FedAvg with optimized static values, FEMNIST", published + "; " + interval, ours, verdict})
	}
	published, interval := publishedStatic(papers().Fathom.StackOverflow.Rows, 0)
	if ours, verdict = r.staticSays(siteName, 0); verdict != open {
		ours = "beer.stackexchange.com: " + ours
	}
	t.Rows = append(t.Rows, []string{"FATHOM: fewer rounds than that, Stack Overflow", published + "; " + interval, ours, verdict})

	ours, verdict = r.ownNetworksSay()
	t.Rows = append(t.Rows,
		[]string{"PerFedRLNAS (appendix): more accurate than FedAvg (Table 8, Shakespeare)", plain(64.32-56.96, 1) + "; one run", ours, verdict})
	ours, verdict = notRun, open
	if row := r.most(nasTable + "/perfedrlnas/theorem1"); row != nil {
		ours, verdict = "CIFAR-10: "+withInterval(row.Sample), beyond(row.Sample)
	}
	t.Rows = append(t.Rows, []string{"PerFedRLNAS (appendix): like clients have like policies (Theorem 1)", "positive", ours, verdict})
	return t, nil
}

// most returns the row of a cell with the most seeds, nil without one.
func (r *Report) most(name string) *Row { return r.mostOf(name, func(*Row) bool { return true }) }

// mostOf is most of the rows that keep accepts.
func (r *Report) mostOf(name string, keep func(*Row) bool) *Row {
	var best *Row
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Name == name && keep(row) && (best == nil || row.Sample.N > best.Sample.N) {
			best = row
		}
	}
	return best
}

// beyond says in words whether numbers show a gain: 0 lies outside of their interval, and random
// signs of as many numbers have a probability below 0.1 at best to give their sum, as of five
// (0.06) and not of three (0.25). It is the rule of every verdict.
func beyond(s stats.Sample) string {
	least := math.Exp2(1 - float64(s.N))
	switch {
	case s.N < 2:
		return "cannot be said from one seed"
	case math.Abs(s.Mean) <= s.Half:
		return notShown
	case least > 1-stats.Confidence:
		return fmt.Sprintf("%s with %d seeds", notShown, s.N)
	case s.Mean < 0:
		return "no, the opposite"
	}
	return "yes"
}

// armsSay tells the gain of FedEx on arms of a set, of the variant that was measured last:
// of equal numbers of pairs the one with more settings, which was chosen for arms that learn.
func (r *Report) armsSay(name string) (ours, verdict string) {
	var texts []string
	var all []string
	n, rounds := 0, 0
	for _, target := range fedexTargets {
		var best *Verdict
		for i := range r.Verdicts {
			if v := &r.Verdicts[i]; v.Name == name+"/"+target && v.Pairs.N > 0 && (best == nil || v.Pairs.N > best.Pairs.N || v.Pairs.N == best.Pairs.N && len(v.Variant) > len(best.Variant)) {
				best = v
			}
		}
		if best == nil {
			return notRun, open
		}
		n, rounds = best.Pairs.N, best.Pairs.Rounds
		texts, all = append(texts, withInterval(best.Pairs.Test)+" ("+target+")"), append(all, beyond(best.Pairs.Test))
	}
	if verdict = all[0]; all[0] != all[1] {
		verdict = fedexTargets[0] + ": " + all[0] + "; " + fedexTargets[1] + ": " + all[1]
	}
	return fmt.Sprintf("%d arms of %d rounds, not the paper's studies: %s", n, rounds, strings.Join(texts, ", ")), verdict
}

// publishedGains are the smallest and the largest gain of a column of Table 1, and how many of
// their intervals hold 0.
func publishedGains(column string) (gains, intervals string) {
	least, most := math.Inf(1), math.Inf(-1)
	n, none := 0, 0
	for i, set := range papers().FedEx.Sets {
		if !strings.HasPrefix("fedex-table1/"+set.Name, column) {
			continue
		}
		for _, wrapper := range fedexWrappers {
			for _, target := range fedexTargets {
				of := func(tuning string) *Published {
					x := papers().FedEx.Errors[wrapper+"/"+target+"/"+tuning][i]
					return &Published{Mean: x[0], SD: x[1], Seeds: fedexSeeds(set.Needs, wrapper)}
				}
				fresh, old := of("fedex"), of("alone")
				gain := old.Mean - fresh.Mean
				least, most = math.Min(least, gain), math.Max(most, gain)
				n++
				none += index(math.Abs(gain) <= fresh.gainHalf(old))
			}
		}
	}
	return plain(least, 1) + " to " + plain(most, 1), fmt.Sprintf("0 lies within %d of %d", none, n)
}

// publishedStatic is what FATHOM saves from the base setting against FedAvg from its best
// start with the base's cohort, in rounds (0) or thousands of gradients (1), as printed.
func publishedStatic(rows []fathomRow, measure int) (saved, interval string) {
	number := func(row fathomRow, method int) *Published {
		return fathomNumber([][2][2]float64{row.Rounds, row.Gradients}[measure][method])
	}
	fathom, name := number(rows[0], 0), ""
	var best *Published
	for _, row := range rows {
		if p := number(row, 1); !p.NA && !row.enlarged() && (best == nil || p.Mean < best.Mean) {
			best, name = p, row.Name
		}
	}
	return fmt.Sprintf("%s against %s (%s)", printed(fathom.Mean), printed(best.Mean), name),
		withInterval(stats.Sample{N: 1, Mean: best.Mean - fathom.Mean, Half: fathom.gainHalf(best)})
}

// staticSays tells what FATHOM spends from the base setting against tuned FedAvg.
func (r *Report) staticSays(experiment string, measure int) (ours, verdict string) {
	var texts, verdicts []string
	for _, s := range r.static(experiment) {
		if s.Unit != staticMeasures[measure].unit {
			continue
		}
		less := s.More
		less.Mean = -less.Mean
		of := " (" + variantText(s.Variant) + ")"
		texts = append(texts, fmt.Sprintf("%s against %s (%s, the best of %d starts); from its best start %s",
			plain(s.Base.Mean, s.Base.Mean), plain(s.Best.Mean, s.Best.Mean), s.Best.Start, s.Starts, plain(s.Lucky.Mean, s.Lucky.Mean))+of)
		verdicts = append(verdicts, beyond(less)+of)
	}
	if len(texts) == 0 {
		return notRun, open
	}
	return strings.Join(texts, "; "), strings.Join(verdicts, "; ")
}

// oneCell is how a table of one cell was asked for, the paper's control of Figure 8.
const oneCell = `tuner.options.hi="0.5" --set tuner.options.samples="125"`

// fedtuneSays compares the table of a set of data with the paper's global setting, with the
// global rates that were tried beside it and with a table of one cell, under the paper's
// method; other methods and tables are on the paper's page.
func (r *Report) fedtuneSays(set string) (ours, verdict string) {
	name := "fedtune-table1/" + set
	plainly := func(row *Row) bool { return !strings.Contains(row.Variant, "method=") }
	table := r.mostOf(name+"/table", func(row *Row) bool {
		return plainly(row) && !strings.Contains(row.Variant, "tuner.options.")
	})
	if table == nil {
		return notRun, open
	}
	return r.fedtuneBy(table, func(row *Row) string {
		switch {
		case !plainly(row):
		case row.Name == name+"/global":
			return globalRate(row)
		case row.Name == name+"/table" && strings.Contains(row.Variant, oneCell):
			return "a table of one cell"
		}
		return ""
	})
}

// globalRate names the rate of a row of one global setting.
func globalRate(row *Row) string {
	_, rate, ok := strings.Cut(row.Variant, "client.lr=")
	if !ok {
		return "the paper's rate"
	}
	rate, _, _ = strings.Cut(rate, " ")
	return "a rate of " + rate
}

// fedtuneBy compares a table with the rows of its scale that control names.
func (r *Report) fedtuneBy(table *Row, control func(*Row) string) (ours, verdict string) {
	var texts, verdicts []string
	for i := range r.Rows {
		row := &r.Rows[i]
		what := control(row)
		if what == "" || row.Scale != table.Scale {
			continue
		}
		v := verdictOf(Comparison{Higher: true}, table, row)
		texts, verdicts = append(texts, withInterval(v.Gain)+" against "+what), append(verdicts, beyond(v.Gain)+" against "+what)
	}
	broke := 0
	for _, m := range table.metrics {
		if at := brokeAt(m); !math.IsNaN(at) {
			broke++
		}
	}
	return fmt.Sprintf("%s %% at best (%s): %s; %d of %d trainings break down",
		plain(table.Sample.Mean, 1), variantText(table.Variant), strings.Join(texts, ", "), broke, len(table.metrics)), strings.Join(verdicts, "; ")
}

// orderSays tells the rank correlation of the recorded table.
func (r *Report) orderSays() (ours, verdict string) {
	row := r.most("fedtune-table2/order")
	if row == nil || row.Sample.N == 0 {
		return notRun, open
	}
	return "recorded table: " + plain(row.Sample.Mean, 1), "no such order"
}

// ownNetworksSay compares a network for each client with FedAvg's trained locally.
func (r *Report) ownNetworksSay() (ours, verdict string) {
	own, fixed := r.most(nasTable+"/perfedrlnas/error"), r.most(nasTable+"/fedavg/error")
	if own == nil || fixed == nil {
		return notRun, open
	}
	v := verdictOf(Comparison{}, own, fixed)
	return fmt.Sprintf("CIFAR-10, %s: %s", variantText(own.Variant), withInterval(v.Gain)), beyond(v.Gain)
}
