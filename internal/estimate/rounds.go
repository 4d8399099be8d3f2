package estimate

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// Counts are what matters of a federation.
type Counts struct {
	// Clients train, Unseen are only measured.
	Clients, Unseen int
	// Train, Val and Test are the mean numbers of a client's examples, UnseenTest
	// that of an unseen one's.
	Train, Val, Test, UnseenTest float64
	// Central is the number of examples of a test set of no client.
	Central float64
	// Proxy is the number of samples that score a proxy federation.
	Proxy float64
}

// Count counts a federation's examples.
func Count(f *data.Federation, c *config.Config) Counts {
	n := Counts{Clients: len(f.Clients), Unseen: len(f.Unseen), Central: float64(f.Test.Len()), Proxy: float64(c.Data.ProxyTest)}
	for _, client := range f.Clients {
		n.Train += float64(client.Train.Len()) / float64(n.Clients)
		n.Val += float64(client.Val.Len()) / float64(n.Clients)
		n.Test += float64(client.Test.Len()) / float64(n.Clients)
	}
	for _, client := range f.Unseen {
		n.UnseenTest += float64(client.Test.Len()) / float64(n.Unseen)
	}
	return n
}

// tasks makes work of rounds.
type tasks struct {
	setup  *study.Setup
	method fl.Method
	cohort float64
	Counts
}

func newTasks(s *study.Setup, n Counts) (*tasks, error) {
	m, err := fl.MethodByName(s.Config.Method)
	return &tasks{setup: s, method: m, cohort: float64(min(s.Config.Updates(), n.Clients)), Counts: n}, err
}

// rounds returns the work of a number of rounds, whose clients take one of the points
// each, and of a number of evaluations at the end; parallel is the number of clients
// that can train at a time, 0 meaning no limit.
func (t *tasks) rounds(rounds, evaluations int, points []fl.ClientParams, parallel int) []Work {
	c := &t.setup.Config
	measured := min(t.Clients, cmp.Or(c.Eval.Clients, t.Clients))
	ends := float64(evaluations * measured) // clients that are measured at the end
	trainings := float64(rounds) * t.cohort
	if c.Eval.Personalized {
		trainings += ends
		ends *= 2
	}
	evaluated := ends*(t.Val+t.Test) + float64(evaluations*t.Unseen)*t.UnseenTest + float64(evaluations)*t.Central
	if evaluations > 1 { // of a study, which scores its rounds
		evaluated += float64(rounds) * t.cohort * t.Val
	}
	evaluated += t.curve(rounds, evaluations > 1)
	return t.work(trainings, t.Train, t.Val, evaluated, points, parallel)
}

// curve returns how many examples are measured on the way, in rounds of a run or of a
// study's trials.
func (t *tasks) curve(rounds int, tuned bool) float64 {
	c := &t.setup.Config
	each, length := t.Test, rounds
	if tuned {
		length = c.Budget.TrialRounds
	}
	if c.Validates() {
		each += t.Val
	}
	if c.Eval.Every >= 0 {
		if c.Eval.Every == 0 {
			return 0
		}
		clients := min(t.Clients, cmp.Or(c.Eval.EveryClients, c.Eval.Clients, t.Clients))
		return float64(rounds/c.Eval.Every) * (float64(clients)*each + t.Central)
	}
	forward, train := t.setup.Model.FLOPs()
	points, clients := study.AutoPoints(rounds, length, t.Clients)
	most := study.AutoShare * float64(rounds) * t.cohort * t.Train * float64(train) / float64(max(1, forward))
	return min(float64(points)*(float64(cmp.Or(c.Eval.EveryClients, clients))*each+t.Central), most)
}

// finalists returns the work of scoring models, the largest possible number of finalists.
func (t *tasks) finalists(models int, points []fl.ClientParams) []Work {
	c := &t.setup.Config
	clients := t.Clients
	for _, most := range []int{c.Finalists.Clients, c.Score.Clients} {
		clients = min(clients, cmp.Or(most, clients))
	}
	scored, trainings := float64(models*clients), 0.0
	if c.Target == tuners.TargetPersonalized {
		trainings = scored
	}
	return t.work(trainings, t.Train, t.Val, scored*t.Val, points, 0)
}

// sides returns the work of proxy federations.
func (t *tasks) sides(w tuners.Work, points []fl.ClientParams) []Work {
	trainings := float64(w.Trials) * float64(w.Rounds) * float64(w.Clients)
	return t.work(trainings, w.Examples, 0, float64(w.Trials)*t.Proxy, points, 0)
}

// work returns the work of a number of local trainings, each with train training and
// val validation examples, and of the evaluated examples, spread evenly over the
// points.
func (t *tasks) work(trainings, train, val, evaluated float64, points []fl.ClientParams, parallel int) []Work {
	c, m := &t.setup.Config, t.setup.Model
	opt := nn.Optimizer{SGD: nn.SGD{
		Momentum: float32(c.Client.Momentum), WeightDecay: float32(c.Client.WeightDecay), Mu: float32(c.Client.Mu),
		Nesterov: c.Client.Nesterov, ClipNorm: float32(c.Client.ClipNorm),
	}}
	opt.Adam.On = c.Client.Adaptive()
	byBatch := map[int]load{}
	for _, p := range points {
		batch := max(1, min(p.Batch, int(math.Ceil(train))))
		visits := trainings / float64(len(points))
		trained := visits * examples(t.method, p, c.Server, train, val, hessian(m), forward(m))
		byBatch[batch] = byBatch[batch].and(load{visits, trained, Evaluated(m, evaluated) / float64(len(points))})
	}
	var out []Work
	for batch, x := range few(byBatch) {
		out = append(out, Work{Model: m, Batch: batch, Steps: x.steps(batch), Optimizer: opt, Examples: x.trained + x.evaluated, Tasks: parallel})
	}
	slices.SortFunc(out, func(a, b Work) int { return a.Batch - b.Batch })
	return out
}

// load is how often clients train on batches of one size, and the examples that they
// train on and that are evaluated beside.
type load struct{ visits, trained, evaluated float64 }

func (l load) and(m load) load {
	return load{l.visits + m.visits, l.trained + m.trained, l.evaluated + m.evaluated}
}

// steps returns those of a client, in the mean; 0 where none trains.
func (l load) steps(batch int) int {
	if l.visits == 0 {
		return 0
	}
	return int(math.Round(l.trained / l.visits / float64(batch)))
}

// few merges the batches into three at most, the smallest, the largest and one
// between them: each costs a probe.
func few(byBatch map[int]load) map[int]load {
	batches := slices.Sorted(maps.Keys(byBatch))
	if len(batches) <= 3 {
		return byBatch
	}
	kept := []int{batches[0], batches[len(batches)/2], batches[len(batches)-1]}
	out := map[int]load{}
	for _, b := range batches {
		near := slices.MinFunc(kept, func(x, y int) int { return max(x, b)*min(y, b) - max(y, b)*min(x, b) })
		out[near] = out[near].and(byBatch[b])
	}
	return out
}
