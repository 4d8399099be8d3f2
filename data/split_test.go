package data

import (
	"slices"
	"strings"
	"testing"
)

// line returns a source of n vectors of one float, example i being i with label
// i modulo 3.
func line(n int) source {
	s := &vectors{n: 1}
	for i := range n {
		s.values = append(s.values, float32(i))
		s.labels = append(s.labels, int32(i%3))
	}
	return s
}

// read returns the numbers that a view of such a source holds.
func read(v View) []int {
	pos := make([]int32, v.Len())
	for i := range pos {
		pos[i] = int32(i)
	}
	x, labels := make([]float32, len(pos)), make([]int32, len(pos))
	if err := v.Fill(pos, x, nil, labels, &Augment{Key: 1}); err != nil {
		panic(err)
	}
	got := make([]int, len(pos))
	for i := range got {
		got[i] = int(x[i])
		if labels[i] != int32(got[i]%3) {
			panic("a label of another sample")
		}
	}
	return got
}

// count returns lo, ..., hi-1.
func count(lo, hi int) []int {
	var n []int
	for i := lo; i < hi; i++ {
		n = append(n, i)
	}
	return n
}

// cutOne splits one writer of train and test samples.
func cutOne(t *testing.T, cfg Config, train, test int) (*Federation, Client) {
	t.Helper()
	src := line(train + test)
	cfg.MinSamples = max(cfg.MinSamples, 1)
	fed := &Federation{Name: "test", Classes: 3}
	if err := cfg.split(fed, []Examples{{
		Client: "w", Train: span(src, 0, train),
		Test: span(src, train, test),
	}}); err != nil {
		t.Fatal(err)
	}
	return fed, fed.Clients[0]
}

func TestSplitInOrder(t *testing.T) {
	for _, tt := range []struct {
		split                        string
		train, test                  int
		most                         int
		wantTrain, wantVal, wantTest []int
	}{
		{"80/10/10", 20, 5, 0, count(0, 20), count(20, 22), count(22, 25)},
		{"80/10/10", 19, 0, 0, count(0, 15), count(15, 17), count(17, 19)},
		{"1/1/2", 7, 0, 0, count(0, 1), count(1, 3), count(3, 7)},
		{"1/0/0", 4, 1, 0, count(0, 5), nil, nil},
		{"files", 25, 5, 0, count(0, 22), count(22, 25), count(25, 30)},
		{"80/20/files", 10, 4, 0, count(0, 8), count(8, 10), count(10, 14)},
		{"80/10/10", 20, 5, 10, count(0, 8), count(8, 9), count(9, 10)},
		{"50/50/files", 20, 10, 6, count(0, 2), count(2, 4), count(20, 22)},
	} {
		fed, c := cutOne(t, Config{Split: tt.split, MaxSamples: tt.most}, tt.train, tt.test)
		if got := read(c.Train); !slices.Equal(got, tt.wantTrain) {
			t.Errorf("%s of %d+%d: train %v, must be %v", tt.split, tt.train, tt.test, got, tt.wantTrain)
		}
		if got := read(c.Val); !slices.Equal(got, tt.wantVal) {
			t.Errorf("%s of %d+%d: val %v, must be %v", tt.split, tt.train, tt.test, got, tt.wantVal)
		}
		if got := read(c.Test); !slices.Equal(got, tt.wantTest) {
			t.Errorf("%s of %d+%d: test %v, must be %v", tt.split, tt.train, tt.test, got, tt.wantTest)
		}
		if capped := strings.Contains(strings.Join(fed.Notes, "\n"), "data.max_samples"); capped != (tt.most > 0) {
			t.Errorf("%s: notes %q", tt.split, fed.Notes)
		}
	}
}

func TestSplitShuffled(t *testing.T) {
	parts := func(seed uint64, most int) (all []int) {
		_, c := cutOne(t, Config{Split: "80/10/10", IID: new(true), Seed: seed, MaxSamples: most}, 80, 20)
		return slices.Concat(read(c.Train), read(c.Val), read(c.Test))
	}
	all := parts(1, 0)
	if !slices.Equal(all, parts(1, 0)) || slices.Equal(all, parts(2, 0)) || slices.Equal(all, count(0, 100)) {
		t.Error("the seed does not decide the order")
	}
	if first := parts(1, 30); !slices.Equal(first, all[:30]) {
		t.Errorf("the cap keeps %v, must keep the first of the shuffled order %v", first, all[:30])
	}
	slices.Sort(all)
	if !slices.Equal(all, count(0, 100)) {
		t.Errorf("the split lost samples: %v", all)
	}
	_, capped := cutOne(t, Config{Split: "files", IID: new(true), MaxSamples: 50}, 80, 20)
	if test := read(capped.Test); len(test) != 10 || slices.Equal(test, count(80, 90)) {
		t.Errorf("the cap keeps the test samples %v, must keep 10 of a shuffled order", test)
	}
	_, c := cutOne(t, Config{Split: "files", IID: new(true)}, 80, 20)
	if !slices.Equal(read(c.Test), count(80, 100)) {
		t.Errorf("test samples of the files became %v", read(c.Test))
	}
}

func TestSplitClients(t *testing.T) {
	src := line(100)
	writers := []Examples{
		{Client: "large", Train: span(src, 0, 30), Test: span(src, 30, 10)},
		{Client: "small", Train: span(src, 40, 4)},
		{Client: "unseen", Test: span(src, 50, 5)},
		{Client: "last", Train: chosen(src, []int32{99, 97, 95, 93, 91, 89, 87, 85, 83, 81}), Test: span(src, 60, 1)},
	}
	open := func(cfg Config) *Federation {
		fed := &Federation{Name: "test", Classes: 3}
		cfg.Split, cfg.MinSamples = "80/10/10", 10
		if err := cfg.split(fed, writers); err != nil {
			t.Fatal(err)
		}
		return fed
	}
	fed := open(Config{})
	if len(fed.Clients) != 2 || fed.Clients[0].ID != "large" || fed.Clients[1].ID != "last" || fed.Unseen != nil {
		t.Fatalf("clients %+v, unseen %+v", fed.Clients, fed.Unseen)
	}
	if got := read(fed.Clients[1].Train); !slices.Equal(got, []int{99, 97, 95, 93, 91, 89, 87, 85}) {
		t.Errorf("train samples of the last client: %v", got)
	}
	if got := read(fed.Clients[1].Test); !slices.Equal(got, []int{81, 60}) {
		t.Errorf("test samples of the last client: %v", got)
	}
	notes := strings.Join(fed.Notes, "\n")
	for _, want := range []string{
		"1 clients have test samples only (5 samples): left out",
		"1 clients have fewer than data.min_samples = 10 samples (4 samples): left out",
		"of 2 clients were merged, then cut 80/10/10",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note %q in %q", want, notes)
		}
	}
	fed = open(Config{Unseen: true, Clients: 1})
	if len(fed.Clients) != 1 || len(fed.Unseen) != 1 || !slices.Equal(read(fed.Unseen[0].Test), count(50, 55)) ||
		fed.Unseen[0].Train.Len() != 0 {
		t.Errorf("clients %+v, unseen %+v", fed.Clients, fed.Unseen)
	}
	if notes := strings.Join(fed.Notes, "\n"); !strings.Contains(notes, "returned as unseen clients") ||
		!strings.Contains(notes, "only the first 1 clients are used") {
		t.Errorf("notes %q", notes)
	}
}

// TestHoldOut: the seed decides which clients never train, a number or a share of those that
// have test samples.
func TestHoldOut(t *testing.T) {
	src := line(1000)
	var writers []Examples
	for i := range 10 {
		w := Examples{Client: numbered(i, 2), Train: span(src, 100*i, 90), Test: span(src, 100*i+90, 10)}
		if i < 2 { // no test samples
			w.Test = View{}
		}
		writers = append(writers, w)
	}
	open := func(cfg Config) (*Federation, error) {
		fed := &Federation{Name: "test", Classes: 3}
		cfg.Split, cfg.MinSamples = "90/10/files", 10
		return fed, cfg.split(fed, writers)
	}
	held := func(seed uint64, n float64) string {
		var ids []string
		fed, err := open(Config{UnseenClients: n, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range fed.Unseen {
			ids = append(ids, c.ID)
			if c.Train.Len() != 81 || c.Val.Len() != 9 || c.Test.Len() != 10 ||
				slices.ContainsFunc(fed.Clients, func(other Client) bool { return other.ID == c.ID }) {
				t.Errorf("client %s is held out with %d, %d, %d samples", c.ID, c.Train.Len(), c.Val.Len(), c.Test.Len())
			}
		}
		if len(fed.Clients)+len(fed.Unseen) != 10 {
			t.Errorf("%d clients train, %d do not", len(fed.Clients), len(fed.Unseen))
		}
		return strings.Join(ids, " ")
	}
	three := held(1, 3)
	if strings.Count(three, " ") != 2 || three != held(1, 0.3) || three == held(2, 3) && three == held(3, 3) {
		t.Errorf("held out: %q", three)
	}
	for n, want := range map[float64]string{
		2.5: "number of clients, or below 1 their share", 9: "only 8 of 10",
		10: "is 10 of 10", 0.01: "is 0 of 10",
	} {
		if _, err := open(Config{UnseenClients: n}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("data.unseen_clients = %v: %v", n, err)
		}
	}
	if _, err := open(Config{UnseenClients: 1, Proxy: 5}); err == nil || !strings.Contains(err.Error(), "data.proxy") {
		t.Errorf("with proxy samples: %v", err)
	}
}

func TestView(t *testing.T) {
	src := line(10)
	v := chosen(src, []int32{3, 4, 8, 0})
	if got := classCounts(t, v, 3); !slices.Equal(got, []int{2, 1, 1}) {
		t.Errorf("classes %v", got)
	}
	if got := read(v.cut(1, 3).join(span(src, 9, 1))); !slices.Equal(got, []int{4, 8, 9}) {
		t.Errorf("joined %v", got)
	}
	if !slices.Equal(read(v), []int{3, 4, 8, 0}) {
		t.Errorf("joining a part changed the view to %v", read(v))
	}
	must(t, View{}.Fill(nil, nil, nil, nil, nil))
	for name, fill := range map[string]func(){
		"position too large": func() { must(t, v.Fill([]int32{4}, make([]float32, 1), nil, make([]int32, 1), nil)) },
		"position below 0":   func() { must(t, v.Fill([]int32{-1}, make([]float32, 1), nil, make([]int32, 1), nil)) },
		"no room":            func() { must(t, v.Fill([]int32{0, 1}, make([]float32, 1), nil, make([]int32, 2), nil)) },
		"no room for labels": func() { must(t, v.Fill([]int32{0, 1}, make([]float32, 2), nil, make([]int32, 1), nil)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: Fill did not panic", name)
				}
			}()
			fill()
		}()
	}
}
