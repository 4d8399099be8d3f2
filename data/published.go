package data

// Totals tells what the files of a set hold, before anything is dealt, left out
// or cut.
type Totals struct {
	// Clients have training samples, or are all there are in a set whose files
	// do not tell the two apart; TestOnly have test samples only. Both are 0 for a
	// set without clients of its own.
	Clients, TestOnly int
	// Train and Test are the samples; Test is 0 where the files have one kind.
	Train, Test int
}

// Published are totals that a publication or a program gives for a whole set.
type Published struct {
	Source string
	Totals
	// Unit is what is counted, if that is not the samples that the reader makes.
	Unit string
}

// published holds the literature's numbers by set. (LEAF: Caldas et al. 2018,
// and its repository; TFF: the documentation of its data sets; the
// scripts' numbers are those of LEAF's unmodified scripts.)
var published = map[string][]Published{
	"leaf-femnist": {
		{Source: "LEAF's scripts", Totals: Totals{Clients: 3597, Train: 817_851}},
		{Source: "LEAF's documentation", Totals: Totals{Clients: 3550, Train: 805_263}},
	},
	"leaf-shakespeare": {
		{Source: "LEAF's paper", Totals: Totals{Clients: 1129, Train: 4_226_150}},
		{Source: "LEAF's scripts on Project Gutenberg's text", Totals: Totals{Clients: 1129, Train: 4_226_158}},
		{Source: "LEAF's scripts on the Moby text", Totals: Totals{Clients: 1140, Train: 4_224_556}},
	},
	"mnist":         {{Source: "MNIST", Totals: Totals{Train: 60_000, Test: 10_000}}},
	"qmnist":        {{Source: "QMNIST's labels of MNIST", Totals: Totals{Clients: 539, TestOnly: 297, Train: 60_000, Test: 10_000}}},
	"fashion-mnist": {{Source: "Fashion-MNIST", Totals: Totals{Train: 60_000, Test: 10_000}}},
	"cifar10":       {{Source: "CIFAR-10", Totals: Totals{Train: 50_000, Test: 10_000}}},
	"cifar100":      {{Source: "CIFAR-100", Totals: Totals{Train: 50_000, Test: 10_000}}},
	"tff-femnist":   {{Source: "TFF", Totals: Totals{Clients: 3400, Train: 671_585, Test: 77_483}}},
	"tff-femnist-digits": {
		{Source: "TFF", Totals: Totals{Clients: 3383, Train: 341_873, Test: 40_832}},
	},
	"tff-shakespeare": {{Source: "TFF", Totals: Totals{Clients: 715, Train: 16_068, Test: 2356}, Unit: "snippets"}},
	"tff-cifar100":    {{Source: "TFF", Totals: Totals{Clients: 500, TestOnly: 100, Train: 50_000, Test: 10_000}}},
	"stackoverflow":   {{Source: "TFF, without those held out", Totals: Totals{Clients: 342_477, Train: 135_818_730, Test: 16_586_035}}},
}

// totalsOf sums what writers hold.
func totalsOf(writers []writer) Totals {
	var t Totals
	for i := range writers {
		train, test := writers[i].train.Len(), writers[i].test.Len()
		if train > 0 {
			t.Clients++
		} else {
			t.TestOnly++
		}
		t.Train += train
		t.Test += test
	}
	return t
}
