package estimate

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/plugins/fedtune"
)

// counts are what matters of a federation: means over its clients.
type counts struct {
	clients, unseen   int
	train, val, test  float64
	unseenTest, proxy float64
}

// count counts the examples.
func count(f *data.Federation, c *study.Config) counts {
	n := counts{clients: len(f.Clients), unseen: len(f.Unseen), proxy: float64(c.Data.ProxyTest)}
	for _, client := range f.Clients {
		n.train += float64(client.Train.Len()) / float64(n.clients)
		n.val += float64(client.Val.Len()) / float64(n.clients)
		n.test += float64(client.Test.Len()) / float64(n.clients)
	}
	for _, client := range f.Unseen {
		n.unseenTest += float64(client.Test.Len()) / float64(n.unseen)
	}
	return n
}

// tasks makes work of rounds.
type tasks struct {
	setup  *study.Setup
	cohort float64
	counts
}

// rounds returns the work of rounds with clients that take one of the points each, and of so many evaluations at the end; parallel is the
// number of clients that can train at a time, 0 many.
func (t *tasks) rounds(rounds, evaluations int, points []fl.ClientParams, parallel int) []Work {
	c := &t.setup.Config
	measured := min(t.clients, cmp.Or(c.Eval.Clients, t.clients))
	ends := float64(evaluations * measured) // clients that are measured at the end
	visits := float64(rounds) * t.cohort
	if c.Eval.Personalized {
		visits += ends
		ends *= 2
	}
	evaluated := ends*(t.val+t.test) + float64(evaluations*t.unseen)*t.unseenTest
	if evaluations > 1 { // of a study, which scores its rounds
		evaluated += float64(rounds) * t.cohort * t.val
	}
	if c.Eval.Every > 0 {
		evaluated += float64(rounds/c.Eval.Every) * float64(t.clients) * (t.val + t.test)
	}
	return t.work(visits, t.train, t.val, evaluated, points, parallel)
}

// sides returns the work of side federations.
func (t *tasks) sides(w fedtune.Work, points []fl.ClientParams) []Work {
	visits := float64(w.Trials) * float64(w.Rounds) * float64(w.Clients)
	return t.work(visits, w.Samples, 0, float64(w.Trials)*t.proxy, points, 0)
}

// work returns visits to clients with so many training and validation examples, and evaluated examples, spread evenly over the points.
func (t *tasks) work(visits, train, val, evaluated float64, points []fl.ClientParams, parallel int) []Work {
	c, m := &t.setup.Config, t.setup.Model
	sgd := nn.SGD{Momentum: float32(c.Client.Momentum), WeightDecay: float32(c.Client.WeightDecay), Mu: float32(c.Client.Mu)}
	byBatch := map[int]float64{}
	for _, p := range points {
		batch := max(1, min(p.Batch, int(math.Ceil(train))))
		byBatch[batch] += (visits*examples(c.Method, p, train, val) + Evaluated(m, evaluated)) / float64(len(points))
	}
	var out []Work
	for batch, x := range few(byBatch) {
		out = append(out, Work{Model: m, Batch: batch, SGD: sgd, Examples: x, Tasks: parallel})
	}
	slices.SortFunc(out, func(a, b Work) int { return a.Batch - b.Batch })
	return out
}

// few merges the batches into three at most, the smallest, the largest and one between them: each costs a probe.
func few(byBatch map[int]float64) map[int]float64 {
	batches := slices.Sorted(maps.Keys(byBatch))
	if len(batches) <= 3 {
		return byBatch
	}
	kept := []int{batches[0], batches[len(batches)/2], batches[len(batches)-1]}
	out := map[int]float64{}
	for _, b := range batches {
		near := slices.MinFunc(kept, func(x, y int) int { return max(x, b)*min(y, b) - max(y, b)*min(x, b) })
		out[near] += byBatch[b]
	}
	return out
}
