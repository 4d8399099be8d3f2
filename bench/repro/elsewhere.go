package repro

// fedexElsewhere are what FedEx's paper shows and no study here measures.
func fedexElsewhere() []Cell {
	return []Cell{
		{
			Name: "fedex-fig3/range", Paper: fedexPaper, Where: "Figure 3", Unit: "points of error between the configurations of a neighbourhood of eps 0.1", Instead: "10 to 20",
			Why: "each of the 27 configurations of a neighbourhood would be trained alone, as arms without FedEx",
		},
		{
			Name: "fedex-theorem4.1", Paper: fedexPaper, Where: "Theorem 4.1", Unit: "task-averaged regret", Instead: "at most ((m/tau)^(1/3) + V) m^(1/2), but for logarithms",
			Why: "a claim about online convex optimization, not about a federation: TestRegretOfTheorem41 of internal/tuner/fedex plays it, with baseline = zero",
		},
	}
}

// fedtuneElsewhere are the numbers of FedTune's paper that cannot be measured here, with
// what it would take.
func fedtuneElsewhere() []Cell {
	var cells []Cell
	add := func(name, where, unit, why string, published float64) {
		c := Cell{Name: name, Paper: fedtunePaper, Where: where, Unit: unit, Why: why}
		if published > 0 {
			c.Published = &Published{Mean: published, Seeds: 1}
		}
		cells = append(cells, c)
	}
	const byHand = "each of 192 clients tuned by hand: 3,600 settings of 20 rounds each"
	add("fedtune-fig1a/gain", "Figure 1a", "points of test accuracy gained by clients that are tuned by hand", byHand, 7.4)
	add("fedtune-fig1b/rates", "Figure 1b", "clients that share a learning rate", byHand, 0)
	add("fedtune-fig1c/cost", "Figure 1c", "tuning iterations by clients", "a count that follows from the settings: 20 rounds a client and setting against 100 rounds of a tenth of the clients", 0)
	add("fedtune-fig2a/estimated", "Figure 2a", "learning rate at an index of 0.36 by a quadratic fit", "the five points that are fitted are in a picture alone", 0.029)
	add("fedtune-fig2a/tuned", "Figure 2a", "learning rate at an index of 0.36 tuned by hand", "the federations are not described", 0.034)
	add("fedtune-fig2b/loss", "Figure 2b", "points of test accuracy lost by estimated rates", "the federations are not described", 15)
	add("fedtune-fig2c/overfit", "Figure 2c", "test accuracy over rounds, tuned on proxy and on own samples", "the federations are not described", 0)
	for _, row := range []struct {
		hi    string
		rates [4]float64
	}{{"0.35", [4]float64{0.021, 0.04, 0.041, 0.061}}, {"0.5", [4]float64{0.032, 0.065, 0.071, 0.105}}, {"0.75", [4]float64{0.042, 0.086, 0.081, 0.125}}} {
		for i, column := range []string{"batch5-samples400", "batch10-samples400", "batch20-samples800", "batch30-samples800"} {
			add("fedtune-table2/hi"+row.hi+"/"+column, "Table 2", "best learning rate of such clients, tuned by hand",
				"neither the set of data nor the number of clients is named; fedtune-table2/order asks tables for the trend", row.rates[i])
		}
	}
	add("fedtune-fig6", "Figure 6", "points of test accuracy gained with indices, Gaussian and Poisson distributions", "the distributions' parameters are not named", 0)
	add("fedtune-fig7/leaf", "Figure 7", "points of test accuracy gained by a table with LEAF's own clients", "the table's cells for LEAF's clients, of 0 to 584 samples, are not named", 2.3)
	return cells
}

// nasElsewhereToo are what PerFedRLNAS' appendix says besides its tables.
func nasElsewhereToo() []Cell {
	var cells []Cell
	const fedoras = "the tuner fedoras runs tiers, not this experiment: its supernet and its phases are other ones (perfedrlnas/cifar10/fedoras)"
	for i, row := range [][2]float64{{75.52, 5.92}, {74.91, 6.63}, {75.39, 6.11}, {74.32, 5.87}} {
		cells = append(cells, Cell{
			Name: "perfedrlnas/fedoras/tier" + string(rune('1'+i)), Paper: nasPaper, Where: "text of the appendix (+- over clients)", Unit: "% test accuracy of FedorAS",
			Why: fedoras, Published: &Published{Mean: row[0], SD: row[1], Seeds: 1},
		})
	}
	return append(cells, Cell{
		Name: "perfedrlnas/fig8/seeds", Paper: nasPaper, Where: "Figure 8", Unit: "standard deviation of test accuracy over 5 seeds, % (clients' data the same)",
		Why: "a spread over seeds is no number of one seed: `repro perfedrlnas/cifar10/perfedrlnas --seeds 5 --set data.seed=1` has it beside the mean", Published: &Published{Mean: 0.498, Seeds: 5},
	})
}
