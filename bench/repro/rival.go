package repro

import "slices"

// rivalSpace is a neighbourhood of hyperparameters that learn, so that the arms of all
// seeds are of one kind: those of the other code are read from their metrics.
var rivalSpace = []string{
	`space."server.lr"={log10=[-0.05, 0.05]}`, `space."server.momentum"={choice=[0]}`, `space."server.decay"={log10_1m=[-3.1, -3]}`,
	`space."client.lr"={log10=[-1.6, -1.2]}`, `space."client.momentum"={uniform=[0.3, 0.5]}`, `space."client.weight_decay"={log10=[-4.2, -3.8]}`,
	`space."client.epochs"={int=[2, 3]}`, `space."client.batch"={log2=[4, 6]}`, `space."client.mu"={log10=[-4, -3]}`, `space."client.dropout"={uniform=[0.1, 0.3]}`,
}

// rivalCells are arms that the code of FedEx's authors runs too (bench/rival).
func rivalCells() []Cell {
	var cells []Cell
	for _, set := range pairedSets {
		if set.needs == "leaf-shakespeare" || set.name == "femnist-redealt" {
			continue
		}
		if set.needs == "leaf-femnist" { // in stored order the split needs no draw
			set.name, set.sets, set.deviates = "femnist", fedexSets[3].sets, slices.Clone(fedexSets[3].deviates)
		}
		set.pairs, set.rounds = 5, 60
		for _, tuning := range fedexTunings {
			t := pairedTraining(set, tuning)
			t.Key = "fedex-rival-" + set.name + "-" + tuning
			t.Sets = append(t.Sets, rivalSpace...)
			if tuning == "fedex" {
				t.Sets = append(t.Sets, "client_tuner.options.eps=1") // of this smaller space
			}
			t.Deviates = append(t.Deviates, "hyperparameters of a neighbourhood that learns, for a comparison with the authors' code (bench/rival)")
			for _, target := range fedexTargets {
				cells = append(cells, armCell("fedex-rival/"+set.name+"/"+tuning+"/"+target, t, target))
			}
		}
	}
	return cells
}
