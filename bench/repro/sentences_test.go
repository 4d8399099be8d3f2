package repro

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/stats"
	"github.com/fedfast/fedfast/tuners"
)

// precisionHeld says where the figures on precisions are held.
const precisionHeld = "held by TestAdviceOnPrecision of package bench"

// byHand are parts of the pages that no table and no metrics here can hold.
var byHand = []struct{ page, text, why string }{
	{
		"papers/fedex.md",
		"0.79 between training and validation samples, 0.54 between training and test (random parts of these sizes: 0.55 and 0.54)", "printed by `fedfast data partition`, as the sentence says",
	},
	{"papers/fedex.md", "personalized | -1.23 ± 1.00", "20 studies, by the command above the table"},
	{"papers/fedex.md", "global | -1.30 ± 1.25", "20 studies, by the command above the table"},
	{"papers/fedex.md", "personalized | -1.02 ± 0.92", "20 studies, by the command above the table"},
	{"papers/fedex.md", "global | +0.54 ± 0.49", "20 studies, by the command above the table"},
	{
		"papers/privacy.md",
		"23.6 % test error without noise, 28.6 to 29.9 with cohorts of 1,000, and with cohorts of 100 29.7 at a noise multiplier of 1.35 and 38.3 at 4.4", "trial runs, whose metrics were not kept",
	},
	{"advice.md", "from 0.3 FedAvg reaches 70 %", "a setting"},
	{
		"advice.md",
		"that end at 21.7, 19.1 and 18.3 % in fp32, the test error in bf16 differs by -0.0 +- 0.6, -0.1 +- 0.3 and 0.3 +- 0.8 points, the personalized one by 0.0 +- 1.4, -0.5 +- 0.9 and 0.1 +- 1.0", precisionHeld,
	},
	{"advice.md", "a training loss that is 0.023 +- 0.013 lower in bf16", precisionHeld},
	{"advice.md", "Rounds are 1.1 to 1.9 times as fast", precisionHeld},
}

// reports are made once each.
var reports = map[string]*Report{}

// reportOf is the report of the recorded metrics of an experiment.
func reportOf(t *testing.T, name string) *Report {
	t.Helper()
	if reports[name] == nil {
		cells, err := Select(name)
		if err != nil {
			t.Fatal(err)
		}
		if reports[name], err = NewReport(cells, recorded(t)); err != nil {
			t.Fatal(err)
		}
	}
	return reports[name]
}

// verdict is the verdict of a claim in the variant with the most seeds.
func (r *Report) verdict(t *testing.T, name string) *Verdict {
	t.Helper()
	var best *Verdict
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Name == name && (best == nil || v.Gain.N > best.Gain.N) {
			best = v
		}
	}
	if best == nil {
		t.Fatalf("no recorded claim %s", name)
	}
	return best
}

// said collects parts of the pages.
type said []sentence

func (s *said) add(page, format string, args ...any) {
	*s = append(*s, sentence{page, fmt.Sprintf(format, args...)})
}

// sentences are parts of the pages as the metrics give them.
func sentences(t *testing.T) said {
	t.Helper()
	paired, ablated := reportOf(t, "fedex-paired"), reportOf(t, "fedex-ablation")
	return slices.Concat(sentencesOfFedEx(t, paired, ablated), sentencesOfPairs(paired), sentencesOfTable1(t),
		sentencesOfStatic(t), sentencesOfFATHOM(t), sentencesOfFedTune(t), sentencesOfMixed(t), sentencesOfNetworks(t))
}

// sentencesOfFedEx are the sentences of its gains in Table 1, and of its arms together.
func sentencesOfFedEx(t *testing.T, paired, ablated *Report) said {
	t.Helper()
	var all said
	add := all.add

	// Table 1 of the paper, from what it prints.
	gains, beyond := 0, 0
	for _, claim := range fedexClaims() {
		cells, err := Select(claim.New)
		if err != nil {
			t.Fatal(err)
		}
		old, err := Select(claim.Old)
		if err != nil {
			t.Fatal(err)
		}
		a, b := cells[0].Published, old[0].Published
		gains++
		beyond += index(math.Abs(b.Mean-a.Mean) > a.gainHalf(b))
	}
	add("papers/fedex.md", "of its %d gains %s lies beyond its 90 %% interval", gains, []string{"none", "one"}[beyond])

	// When theta decides, and whether it stays so.
	cifar := paired.verdict(t, "fedex-paired/cifar10/global").Pairs
	femnist := paired.verdict(t, "fedex-paired/femnist-iid/global").Pairs
	zero := ablated.verdict(t, "fedex-ablation/cifar10/eps/0/global").Pairs
	add("papers/fedex.md",
		"of the %d arms on CIFAR-10 that fall below 0.1 nats %d rise above ln 2 again, as if two configurations were equally likely, on FEMNIST %d of %d, with eps 0 %d of %d",
		cifar.WithEntropy-cifar.Undecided, cifar.Again, femnist.Again, femnist.WithEntropy-femnist.Undecided, zero.Again,
		zero.WithEntropy-zero.Undecided)
	add("advice.md", "in %d of %d arms on CIFAR-10 that had decided it rises above ln 2 again", cifar.Again,
		cifar.WithEntropy-cifar.Undecided)
	add("papers/fedex.md",
		"with the paper's settings in the %.0frd of 200 rounds on CIFAR-10, in the %.0fth of 50 on FEMNIST", cifar.Decided,
		femnist.Decided)

	// Clients that were dropped in the pairs.
	arms, results := 0, 0
	for _, row := range paired.Rows {
		if row.Name != "fedex-paired/cifar10/global/fedex" {
			continue
		}
		for _, m := range row.metrics {
			arms, results = arms+index(*m.End.Dropped > 0), results+*m.End.Dropped
		}
	}
	add("papers/fedex.md", "On CIFAR-10 %d,%03d results were dropped in %d of the %d arms with FedEx", results/1000,
		results%1000, arms, cifar.N)

	// The ablation's exact tests, and Holm's correction for all that are told.
	var ps []float64
	p := map[string]float64{}
	for i := range ablated.Verdicts {
		v := &ablated.Verdicts[i]
		if strings.Contains(v.Name, besideOwn) || v.Pairs.N != 10 || strings.Contains(v.Name, "/eps/0/") {
			continue
		}
		ps, p[v.Name] = append(ps, v.Pairs.P), v.Pairs.P
	}
	adjusted := stats.Holm(ps)
	slices.Sort(adjusted)
	const eps, cohort, draws = "fedex-ablation/cifar10/eps/1" + clipped, "fedex-ablation/cifar10/cohort/30",
		"fedex-ablation/cifar10/independent/true"
	add("papers/fedex.md",
		"p is %.3f (personalized) and %.3f (global) for cohorts of 30, %.3f and %.3f for eps 1, clipped, and %.3f and %.3f for independent draws, and after Holm's correction for the %d tests none stays below 0.10 (the smallest comes to %.3f)",
		p[cohort+"/personalized"], p[cohort+"/global"], p[eps+"/personalized"], p[eps+"/global"], p[draws+"/personalized"],
		p[draws+"/global"], len(ps), adjusted[0])
	if adjusted[0] < 0.1 {
		t.Errorf("after Holm's correction %v stays below 0.10", adjusted[0])
	}

	// Independent draws: arms that are lost.
	lostArms, lostResults := 0, 0
	for _, m := range ablated.measured("fedex-ablation/cifar10/independent/true/fedex/global", "") {
		lostArms, lostResults = lostArms+index(*m.End.Dropped > 0), lostResults+*m.End.Dropped
	}
	add("papers/fedex.md", "In %s of ten arms %d,%03d results were not finite", []string{
		"none", "one", "two", "three",
		"four", "five", "six", "seven",
	}[min(lostArms, 7)], lostResults/1000, lostResults%1000)

	// Bounds on which configurations of eps 1 lie.
	configs, rates, momenta := 0.0, 0.0, 0.0
	for _, row := range ablated.Rows {
		if row.Name != eps+"/fedex/global" {
			continue
		}
		for _, m := range row.metrics {
			arm := &m.Trials[0]
			rate, momentum := slices.Index(arm.ConfigParams, "client.lr"), slices.Index(arm.ConfigParams, "client.momentum")
			for _, c := range arm.Configs[1:] {
				configs, rates, momenta = configs+1, rates+float64(index(c[rate] >= 1)), momenta+float64(index(c[momentum] >= 1))
			}
		}
	}
	add("papers/fedex.md",
		"%.0f %% of the configurations have a learning rate of exactly 1 and %.0f %% a momentum of exactly 1",
		100*rates/configs, 100*momenta/configs)
	return all
}

// measured returns the metrics of a row's seeds in a variant that has a mark.
func (r *Report) measured(name, mark string) map[int]*Metrics {
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Name == name && strings.Contains(row.Variant, mark) {
			return bySeed(row)
		}
	}
	return nil
}

// spread prints a mean with its interval.
func spread(s stats.Sample) string { return one(s.Mean, s.Half) }

// sentencesOfPairs are the sentences of single arms.
func sentencesOfPairs(paired *Report) said {
	var all said
	add := func(format string, args ...any) { all.add("papers/fedex.md", format, args...) }
	test := func(m *Metrics, target string) float64 { return m.End.test(m.End.Survivor, target) }

	var spread [2]float64
	for i := range paired.Verdicts {
		for j, target := range fedexTargets {
			if v := &paired.Verdicts[i]; v.Name == "fedex-paired/cifar10/"+target {
				spread[j] = v.Pairs.Test.SD
			}
		}
	}
	add("a standard deviation of %.1f and %.1f points", spread[0], spread[1])

	redealt, dealt := paired.measured("fedex-paired/femnist-redealt/global/fedex", ""),
		paired.measured("fedex-paired/femnist-redealt/global/alone", "")
	for seed, m := range redealt {
		if x, y := test(m, "global"), test(dealt[seed], "global"); x < 80 {
			add("learns in one arm of ten, where it ends at %.1f %% without FedEx and %.1f with it", y, x)
		}
	}

	const shakespeare = "fedex-paired/shakespeare/global/"
	chosen, alone := paired.measured(shakespeare+"fedex", "eval.clients=60"), paired.measured(shakespeare+"alone",
		"eval.clients=60")
	gains := map[string][]string{}
	low, high := map[string]float64{}, map[string]float64{}
	for i, seed := range []int{12, 18, 20} {
		for _, target := range fedexTargets {
			x, y := test(chosen[seed], target), test(alone[seed], target)
			gains[target] = append(gains[target], fmt.Sprintf("%.1f", y-x))
			if i == 0 {
				low[target] = y
			}
			low[target], high[target] = math.Min(low[target], y), math.Max(high[target], y)
		}
	}
	list := func(xs []string) string { return xs[0] + ", " + xs[1] + " and " + xs[2] }
	add("without FedEx they end at %.1f to %.1f %% (personalized) and %.1f to %.1f (global)", low["personalized"],
		high["personalized"], low["global"], high["global"])
	add("%s points personalized, %s global", list(gains["personalized"]), list(gains["global"]))
	best, without := 100.0, 0.0
	drawn, bare := paired.measured(shakespeare+"fedex", "--scale 0.5 --set precision=bf16"),
		paired.measured(shakespeare+"alone", "--scale 0.5 --set precision=bf16")
	for seed, m := range drawn {
		if x := test(m, "global"); x < best {
			best, without = x, test(bare[seed], "global")
		}
	}
	add("the best has %.1f %% global error with FedEx and %.1f without", best, without)

	return all
}

// sentencesOfTable1 are the sentences of Table 1 of FedEx's paper.
func sentencesOfTable1(t *testing.T) said {
	t.Helper()
	var all said
	add := all.add

	// Both wrappers, paired by seed.
	wrapped := func(set, mark string) map[string]stats.Sample {
		r := reportOf(t, "fedex-table1/"+set)
		out := map[string]stats.Sample{}
		for _, target := range fedexTargets {
			for _, tuning := range fedexTunings {
				rs, sha := r.measured("fedex-table1/"+set+"/rs/"+target+"/"+tuning, mark),
					r.measured("fedex-table1/"+set+"/sha/"+target+"/"+tuning, mark)
				var less []float64
				for seed := 1; seed <= len(rs); seed++ {
					less = append(less, rs[seed].End.test(rs[seed].End.Best, target)-sha[seed].End.test(sha[seed].End.Best, target))
				}
				out[target+"/"+tuning] = stats.Of(less)
			}
		}
		return out
	}
	cifar := wrapped("cifar10-iid", "--scale 0.05")
	add("advice.md", "the global error is %s points lower without FedEx and %s with it", spread(cifar["global/alone"]),
		spread(cifar["global/fedex"]))
	add("advice.md", "The personalized error is %s and %s points lower there", spread(cifar["personalized/alone"]),
		spread(cifar["personalized/fedex"]))

	// One seed at full length.
	full := reportOf(t, "fedex-table1/cifar10-iid")
	var searched [2]*Metrics
	var gap [2]float64
	for i := range full.Rows {
		for j, tuning := range fedexTunings {
			if row := &full.Rows[i]; row.Variant == "" && row.Name == "fedex-table1/cifar10-iid/rs/global/"+tuning {
				searched[j] = row.metrics[0]
			}
		}
	}
	for i := range full.Rows {
		for j, tuning := range fedexTunings {
			if row := &full.Rows[i]; row.Variant == "" && row.Name == "fedex-table1/cifar10-iid/rs/personalized/"+tuning {
				gap[j] = row.metrics[0].End.test(row.metrics[0].End.Best,
					"personalized") - searched[j].End.test(searched[j].End.Best, "global")
			}
		}
	}
	printed := func(tuning string) float64 {
		return papers().FedEx.Errors["rs/personalized/"+tuning][4][0] - papers().FedEx.Errors["rs/global/"+tuning][4][0]
	}
	add("papers/fedex.md", "by %.1f points without FedEx and %.1f with it; the paper has %.1f and %.1f", gap[0], gap[1],
		printed("alone"), printed("fedex"))
	end := func(m *Metrics, arm int) float64 {
		curve := m.Trials[arm].Test
		return 100 * curve[len(curve)-1].TestError
	}
	add("papers/fedex.md",
		"it ends at %.1f %% without FedEx and %.1f with it. The third ends at %.1f and %.1f, better with FedEx by %.1f points; the first at %.1f and %.1f",
		end(searched[0], 3), end(searched[1], 3), end(searched[0], 2), end(searched[1], 2),
		end(searched[0], 2)-end(searched[1], 2), end(searched[0], 0), end(searched[1], 0))
	return all
}

// sentencesOfStatic are the sentences of FATHOM against FedAvg with tuned static values.
func sentencesOfStatic(t *testing.T) said {
	t.Helper()
	var all said
	add := all.add

	static := reportOf(t, staticName).static(staticName)
	of := func(measure int, variant string) *Static {
		for i := range static {
			if s := &static[i]; s.Unit == staticMeasures[measure].unit && s.Variant == variant {
				return s
			}
		}
		t.Fatalf("no static settings of %q", variant)
		return nil
	}
	rounds, gradients := of(0, "--scale 0.2"), of(1, "--scale 0.2")
	add("papers/fathom.md",
		"with which FedAvg takes %.1f rounds (three seeds). FATHOM takes %.1f from the paper's base setting, without any trial, and %.1f at best, from that same start. In local gradients FedAvg's best is %.1f thousand, FATHOM's %.1f",
		rounds.Best.Mean, rounds.Base.Mean, rounds.Lucky.Mean, gradients.Best.Mean, gradients.Lucky.Mean)
	rounds, gradients = of(0, ""), of(1, "")
	if rounds.Best.Start != "batch4" || gradients.Best.Start != "batch4" {
		t.Errorf("FedAvg's best static settings are %s and %s", rounds.Best.Start, gradients.Best.Start)
	}
	add("papers/fathom.md",
		"%.1f rounds against %.1f by FedAvg with batches of 4, %s fewer, paired by seed, and %s thousand more local gradients",
		rounds.Base.Mean, rounds.Best.Mean, one(-rounds.More.Mean, rounds.More.Half),
		one(gradients.More.Mean, gradients.More.Half))
	three := func(method string) float64 {
		return reportOf(t, staticName).mostOf(staticName+"/epochs3/"+method+"/rounds",
			func(r *Row) bool { return r.Variant == "" }).Sample.Mean
	}
	add("papers/fathom.md", "From three epochs FedAvg takes %.1f rounds, FATHOM %.1f", three("fedavg"), three("fathom"))
	add("advice.md", "To 86 %% the best static setting takes %.1f rounds, FATHOM %.1f, %s fewer", rounds.Best.Mean,
		rounds.Base.Mean, one(-rounds.More.Mean, rounds.More.Half))
	site := reportOf(t, siteName)
	gain, tuned := site.verdict(t, siteName+"/base").Gain, site.static(siteName)[0]
	add("papers/fathom.md",
		"from the paper's base setting FATHOM takes %.1f rounds where FedAvg takes %.1f, %s fewer, paired by seed",
		tuned.Base.Mean, site.most(siteName+"/base/fedavg/rounds").Sample.Mean, one(gain.Mean, gain.Half))
	add("papers/fathom.md", "FedAvg with batches of 4 takes %s rounds fewer than FATHOM",
		one(tuned.More.Mean, tuned.More.Half))
	return all
}

// sentencesOfFATHOM are the sentences of FATHOM's rounds.
func sentencesOfFATHOM(t *testing.T) said {
	t.Helper()
	var all said
	add := all.add

	// FATHOM from a rate that is too high.
	var lost []string
	low, high := math.Inf(1), 0.0
	for _, m := range reportOf(t, "fathom-starts/lr0.3").measured("fathom-starts/lr0.3/fathom", "") {
		rate := m.End.Curve[len(m.End.Curve)-1].Params.Float("client.lr", 0)
		low, high = math.Min(low, rate), math.Max(high, rate)
		if best, _ := bestAccuracy(m); best > 50 {
			lost = append(lost, fmt.Sprintf("%.1f", best))
		}
	}
	add("papers/fathom.md", "after 400 rounds the rate is %.2f to %.2f", low, high)
	slices.Sort(lost)
	for _, page := range []string{"papers/fathom.md", "advice.md"} {
		add(page, "%s and %s %%", lost[0], lost[1])
	}

	// FATHOM by the printed equations, at the short goal and at the paper's.
	base := reportOf(t, "fathom-table1/base")
	spends := func(scale, asPaper string) (takes, later, saved, work, coded stats.Sample, batches [2][]float64) {
		code, plainly := base.measured("fathom-table1/base/fathom/rounds", scale),
			base.measured("fathom-table1/base/fedavg/rounds", scale)
		var all [5][]float64
		for seed, m := range base.measured("fathom-table1/base/fathom/rounds", asPaper) {
			x, _ := roundsToGoal(m)
			y, _ := roundsToGoal(plainly[seed])
			z, _ := roundsToGoal(code[seed])
			g, _ := gradientsToGoal(m)
			for i, v := range []float64{x, x - y, y, g, z} {
				all[i] = append(all[i], v)
			}
			for i, m := range []*Metrics{m, code[seed]} {
				batches[i] = append(batches[i], m.End.Curve[len(m.End.Curve)-1].Params.Float("client.batch", 0))
			}
		}
		return stats.Of(all[0]), stats.Of(all[1]), stats.Of(all[2]), stats.Of(all[3]), stats.Of(all[4]), batches
	}
	takes, later, saved, work, coded, _ := spends("--scale 0.2", "--scale 0.2 --as-paper")
	add("papers/fathom.md",
		"from the base setting FATHOM takes %s rounds (five seeds, 2026-11-27, Zen 4) where FedAvg takes %.0f and the code %.0f, %s more than FedAvg, paired by seed, and %s thousand local gradients",
		spread(takes), saved.Mean, coded.Mean, spread(later), spread(work))
	takes, later, _, _, _, batches := spends("", "--as-paper")
	add("papers/fathom.md",
		"they take %s rounds, %s more than FedAvg, and the batch grows to %.0f to %.0f, where the code shrinks it to %.0f",
		spread(takes), spread(later), slices.Min(batches[0]), slices.Max(batches[0]), slices.Max(batches[1]))

	// From five epochs with batches of 4 at the paper's goal.
	long := reportOf(t, "fathom-static/epochs5-batch4")
	var reached, peaks, when, from []string
	for seed := 1; seed <= 3; seed++ {
		m := long.measured("fathom-static/epochs5-batch4/fedavg/rounds", "")[seed]
		if rounds, ok := roundsToGoal(m); ok {
			reached = append(reached, fmt.Sprintf("%.0f", rounds))
			continue
		}
		best, broke := result.Broke(m.End.Curve)
		peaks, when, from = append(peaks, fmt.Sprintf("%.1f", 100*(1-best.TestError))),
			append(when, strconv.Itoa(best.Round)), append(from, strconv.Itoa(broke.Round))
	}
	add("papers/fathom.md",
		"FedAvg reaches the goal from one seed, in %s rounds; from the other two it is at %s %% after %s rounds and loses its model for good in rounds %s",
		strings.Join(reached, " and "), strings.Join(peaks, " and "), strings.Join(when, " and "),
		strings.Join(from, " and "))
	var rounds, gradients []float64
	for _, m := range long.measured("fathom-static/epochs5-batch4/fathom/rounds", "") {
		x, _ := roundsToGoal(m)
		y, _ := gradientsToGoal(m)
		rounds, gradients = append(rounds, x), append(gradients, y)
	}
	add("papers/fathom.md",
		"FATHOM reaches it from all three, in %.0f to %.0f rounds (%.1f in the mean), for %.1f million local gradients",
		slices.Min(rounds), slices.Max(rounds), stats.Of(rounds).Mean, stats.Of(gradients).Mean/1000)
	return all
}

// sentencesOfFedTune are the sentences of FedTune's tables.
func sentencesOfFedTune(t *testing.T) said {
	t.Helper()
	var all said
	add := all.add

	// FedTune's Table 2.
	order := func(name string) float64 { return reportOf(t, name).Rows[0].Sample.Mean }
	add("papers/fedtune.md", "with the heterogeneity index is %.2f", order("fedtune-table2/order"))

	// FedTune's tables that break down.
	fmnist := reportOf(t, "fedtune-table1/fmnist")
	rate, table := fmnist.measured("fedtune-table1/fmnist/global", "client.lr="+tunedRate),
		fmnist.measured("fedtune-table1/fmnist/table", "")
	var above []float64
	for seed, m := range rate {
		x, _ := bestAccuracy(m)
		y, _ := bestAccuracy(table[seed])
		above = append(above, x-y)
		if at := brokeAt(m); !math.IsNaN(at) {
			t.Errorf("seed %d with a rate of %s breaks down in round %v", seed, tunedRate, at)
		}
	}
	var alone, gains []float64
	for seed, m := range fmnist.measured("fedtune-table1/fmnist/table", oneCell) {
		x, _ := bestAccuracy(m)
		y, _ := bestAccuracy(table[seed])
		alone, gains = append(alone, x), append(gains, y-x)
	}
	slices.Sort(alone)
	single, gain := stats.Of(alone), stats.Of(gains)
	add("papers/fedtune.md",
		"One seed reaches %.1f %% and keeps it, one %.1f %% in the first five rounds and then guesses, one never learns (%.1f %%): %.1f +- %.1f, so that the table's gain over it, %.1f +- %.1f points",
		alone[2], alone[1], alone[0], single.Mean, single.Half, gain.Mean, gain.Half)
	more := stats.Of(above)
	add("papers/fedtune.md", "no seed breaks down: %.1f +- %.1f points above the table", more.Mean, more.Half)
	add("advice.md", "%.1f +- %.1f points more than the table, and no seed breaks down", more.Mean, more.Half)
	const adagrad = "method=fedadagrad"
	rate, table = fmnist.measured("fedtune-table1/fmnist/global", adagrad+" --set client.lr="+tunedRate),
		fmnist.measured("fedtune-table1/fmnist/table", adagrad)
	var below, ends, kept []float64
	for seed, m := range table {
		x, _ := bestAccuracy(m)
		y, _ := bestAccuracy(rate[seed])
		below, ends = append(below, x-y), append(ends, 100*(1-m.End.Curve[len(m.End.Curve)-1].TestError))
		kept = append(kept, 100*(1-rate[seed].End.Curve[len(rate[seed].End.Curve)-1].TestError))
		if at := brokeAt(m); !math.IsNaN(at) {
			t.Errorf("seed %d with FedAdagrad breaks down in round %v", seed, at)
		}
	}
	less := stats.Of(below)
	add("papers/fedtune.md", "at best and ends at %s", spread(stats.Of(kept)))
	add("papers/fedtune.md", "not shown to be better than a setting that was tuned (%.1f +- %.1f)", less.Mean, less.Half)
	add("papers/fedtune.md", "is at %.0f to %.0f %% at the end of the 125 rounds", slices.Min(ends), slices.Max(ends))

	// FedTune on CIFAR-10, where proxy federations learn next to nothing.
	cifar := reportOf(t, "fedtune-table1/cifar10")
	filled := cifar.measured("fedtune-table1/cifar10/table", "")
	learnt, guesses, cells := 0, 0, 0
	const guess = 0.88 // of ten classes, within four standard deviations of 1,000 samples
	for i := range filled[1].Sides {
		learnt += index(filled[1].Sides[i].Score != nil && *filled[1].Sides[i].Score < 0.8)
	}
	for _, row := range result.BestProxies(filled[1].Sides, tuners.Objective{}).Cells {
		for _, cell := range row {
			cells++
			guesses += index(*cell.Score > guess)
		}
	}
	add("papers/fedtune.md",
		"of the %d trials that fill the table %d come below 80 %% error, and of its %d cells %d hold what guesses",
		len(filled[1].Sides), learnt, cells, guesses)
	for _, rate := range []string{"--scale 0.2", "client.lr=0.1", "client.lr=0.02"} {
		for seed, m := range cifar.measured("fedtune-table1/cifar10/global", rate) {
			if at := brokeAt(m); math.IsNaN(at) == (seed == 2 && rate != "client.lr=0.02") {
				t.Errorf("%s, seed %d: breaks down in round %v", rate, seed, at)
			}
		}
	}
	return all
}

// tunedRate is the global rate on Fashion-MNIST that was chosen before any run.
const tunedRate = "0.03"

// sentencesOfMixed are the sentences of six cells of FedTune's table on Fashion-MNIST, tuned
// together and each by itself.
func sentencesOfMixed(t *testing.T) said {
	t.Helper()
	var all said
	add, fmnist := all.add, reportOf(t, "fedtune-table1/fmnist")
	const six = `--scale 0.25 --set tuner.options.hi="0.4,0.8" --set tuner.options.samples="50,150,250"`
	together, apart := tableFilled(fmnist, six+" --set tuner.options.mixed=true"), tableFilled(fmnist, six)
	chosen, alike, worst, next := together.sides[0], 0, 0.0, math.Inf(1)
	uniform := func(side result.ProxyTrial) bool {
		return !slices.ContainsFunc(side.Table, func(c tuners.Cell) bool {
			return !reflect.DeepEqual(c.Params,
				side.Table[0].Params)
		})
	}
	for _, side := range together.sides {
		if uniform(side) {
			alike++
		} else {
			worst, next = max(worst, *side.Score), min(next, *side.Score)
		}
		if *side.Score < *chosen.Score {
			chosen = side
		}
	}
	if len(together.broken) > 0 || !uniform(chosen) {
		t.Errorf("of cells tuned together %v is chosen; trainings break down from rounds %v", chosen, together.broken)
	}
	p := chosen.Table[0].Params
	add("papers/fedtune.md",
		"%d trials of one setting for all cells find a rate of %v, batches of %v and %v epochs (%.1f %% error on proxy samples)",
		alike, p.Float("client.lr", 0), p.Float("client.batch", 0), p.Float("client.epochs", 0), 100**chosen.Score)
	add("papers/fedtune.md", "none of the %d that give one cell another is better (%.1f to %.1f %%)",
		len(together.sides)-alike, 100*next, 100*worst)
	best := stats.Of(together.best)
	add("papers/fedtune.md", "reach %s %% at best and are at %.0f to %.0f %% at the end", one(best.Mean, best.Half),
		slices.Min(together.last), slices.Max(together.last))
	over := func(t filledTable, global map[int]*Metrics) stats.Sample {
		var gains []float64
		for i, seed := range t.seeds {
			x, _ := bestAccuracy(global[seed])
			gains = append(gains, t.best[i]-x)
		}
		return stats.Of(gains)
	}
	untuned, tuned := over(together, fmnist.measured("fedtune-table1/fmnist/global", "--scale 0.25")),
		over(together, fmnist.measured("fedtune-table1/fmnist/global", "--scale 0.25 --set client.lr="+tunedRate))
	add("papers/fedtune.md", "That is %s points above the paper's global rate and %s above the rate of 0.03",
		one(untuned.Mean, untuned.Half), one(tuned.Mean, tuned.Half))
	add("advice.md", "%s points above the rate of 0.03, paired by seed, and none breaks down", one(tuned.Mean, tuned.Half))

	var rates []float64
	for _, row := range result.BestProxies(apart.sides, tuners.Objective{}).Cells {
		for _, cell := range row {
			rates = append(rates, cell.Params.Float("client.lr", 0))
		}
	}
	if len(apart.best) != 3 || len(apart.broken) != 1 {
		t.Fatalf("of cells tuned apart %v at best, broken down from rounds %v", apart.best, apart.broken)
	}
	peaksApart := fmt.Sprintf("%.1f, %.1f and %.1f %%", apart.best[0], apart.best[1], apart.best[2])
	var ahead []float64
	for i, seed := range apart.seeds {
		ahead = append(ahead, together.best[slices.Index(together.seeds, seed)]-apart.best[i])
	}
	gained := stats.Of(ahead)
	add("papers/fedtune.md",
		"(%d trials, rates of %v to %v), reach %s, and the second training breaks down from round %.0f on: tuning together gains %s points, in all three seeds",
		len(apart.sides), slices.Min(rates), slices.Max(rates), peaksApart, apart.broken[0], one(gained.Mean, gained.Half))
	return all
}

// filledTable is what is known of the trainings with a table of FedTune: how it was filled,
// their test accuracies in % at best and at the end, and from which rounds on they broke down.
type filledTable struct {
	sides              []result.ProxyTrial
	seeds              []int
	best, last, broken []float64
}

// tableFilled returns that of a variant on Fashion-MNIST.
func tableFilled(r *Report, variant string) (t filledTable) {
	for _, row := range r.Rows {
		if row.Name != "fedtune-table1/fmnist/table" || row.Variant != variant {
			continue
		}
		for _, m := range row.metrics {
			x, _ := bestAccuracy(m)
			t.sides, t.seeds = append(t.sides, m.Sides...), append(t.seeds, m.Head.Seed)
			t.best, t.last = append(t.best, x), append(t.last, 100*(1-m.End.Curve[len(m.End.Curve)-1].TestError))
			if from := brokeAt(m); !math.IsNaN(from) {
				t.broken = append(t.broken, from)
			}
		}
	}
	return t
}

// sentencesOfNetworks are the sentences of PerFedRLNAS.
func sentencesOfNetworks(t *testing.T) said {
	t.Helper()
	var all said
	add := all.add

	// Networks of the clients' own.
	nas := reportOf(t, nasTable)
	errors := func(arm string) map[int]*Metrics { return nas.measured(nasTable+"/"+arm+"/error", "") }
	of := func(arm string, seed int) float64 {
		m := errors(arm)[seed]
		return m.End.test(m.End.Survivor, "personalized")
	}
	var worse []float64
	for seed := range errors("fedavg") {
		worse = append(worse, of("perfedrlnas", seed)-of("fedavg", seed))
	}
	for _, page := range []string{"papers/perfedrlnas.md", "advice.md"} {
		add(page, "p = %.2f, the least that three", stats.SignFlips(worse))
	}
	var slim []float64
	for seed := range errors("heterofl") {
		slim = append(slim, of("heterofl", seed)-of("perfedrlnas", seed))
	}
	add("papers/perfedrlnas.md", "a gain of %.1f points over untrained sub-networks", stats.Of(slim).Mean)
	return all
}
