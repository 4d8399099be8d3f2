package data

// Totals tells what the files of a set hold, before anything is dealt, left out
// or cut.
type Totals struct {
	// Clients have training samples, or are all there are in a set whose files
	// do not tell the two apart; TestOnly have test samples only. Both are 0 for a
	// set without clients of its own.
	Clients  int `json:"clients"`
	TestOnly int `json:"test_only_clients"`
	// Train and Test are the samples; Test is 0 where the files have one kind.
	Train int `json:"train_samples"`
	Test  int `json:"test_samples"`
}

// Published are totals that a publication or a program gives for a whole set.
type Published struct {
	Source string `json:"source"`
	Totals
	// Unit is what is counted, if that is not the samples that the reader makes.
	Unit string `json:"unit,omitempty"`
}

// totalsOf sums what clients hold.
func totalsOf(writers []Examples) Totals {
	var t Totals
	for i := range writers {
		train, test := writers[i].Train.Len(), writers[i].Test.Len()
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
