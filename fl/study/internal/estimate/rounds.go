package estimate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/meter"
	"github.com/fedfast/fedfast/kernels/det"
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
func (t *tasks) rounds(rounds, evaluations int, points []fl.ClientParams, parallel int) Work {
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
	points, clients := meter.AutoPoints(rounds, length, t.Clients)
	most := meter.AutoShare * float64(rounds) * t.cohort * t.Train / forward(t.setup.Model)
	return min(float64(points)*(float64(cmp.Or(c.Eval.EveryClients, clients))*each+t.Central), most)
}

// finalists returns the work of scoring models, the largest possible number of finalists.
func (t *tasks) finalists(models int, points []fl.ClientParams) Work {
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
func (t *tasks) sides(w tuners.Work, points []fl.ClientParams) Work {
	trainings := float64(w.Trials) * float64(w.Rounds) * float64(w.Clients)
	return t.work(trainings, w.Examples, 0, float64(w.Trials)*t.Proxy, points, 0)
}

// work returns the work of a number of local trainings, each with train training and
// val validation examples, spread evenly over the points, and of the evaluated examples. Its
// batches are the batches of the middle point.
func (t *tasks) work(trainings, train, val, evaluated float64, points []fl.ClientParams, parallel int) Work {
	c, m := &t.setup.Config, t.setup.Model
	trained, batches := 0.0, make([]int, len(points))
	for i, p := range points {
		batches[i] = max(1, min(p.Batch, int(math.Ceil(train))))
		trained += examples(t.method, p, c.Server, m, train, val) / float64(len(points))
	}
	slices.Sort(batches)
	batch := batches[len(batches)/2]
	return Work{
		Step: Step{Model: m, Batch: batch, Steps: int(math.Round(trained / float64(batch))), Adam: c.Client.Adaptive(), SGD: nn.SGD{
			Momentum: float32(c.Client.Momentum), WeightDecay: float32(c.Client.WeightDecay), Mu: float32(c.Client.Mu),
			Nesterov: c.Client.Nesterov, ClipNorm: float32(c.Client.ClipNorm),
		}},
		Examples: trainings*trained + Evaluated(m, evaluated), Tasks: parallel,
	}
}

// drawnSubnets is how many sub-networks tell how many operations one takes in the mean.
const drawnSubnets = 16

// share returns how much of the whole network's work a client's training takes in the
// mean. It is 1 unless a tuner picks sub-networks for the clients; then every option of
// the model's choices is as likely.
func share(ctx context.Context, s *study.Setup) (float64, error) {
	method, err := fl.MethodByName(s.Config.Method)
	if err != nil {
		return 0, err
	}
	choices := s.Model.Choices()
	if method.Subnet == nil || len(choices) == 0 {
		return 1, nil
	}
	if picks, err := s.Picks(ctx); err != nil || !picks {
		return 1, err
	}
	_, whole := s.Model.FLOPs()
	sum := 0.0
	for i := range drawnSubnets {
		pick := map[string]int{}
		for k, c := range choices {
			at := det.Unit(det.Mix(uint64(i*len(choices)+k))) * float64(len(c.Options))
			pick[c.Name] = c.Options[min(int(at), len(c.Options)-1)]
		}
		sub, err := s.Model.Sub(pick)
		if err != nil {
			return 0, err
		}
		_, train := sub.FLOPs()
		sum += float64(train) / drawnSubnets
	}
	return sum / float64(whole), nil
}
