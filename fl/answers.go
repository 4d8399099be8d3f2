package fl

import (
	"math"
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/measure"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/kernels/det"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// mostAnswers is about how many numbers the answers about the samples of an evaluation are, 128 MiB: of
// more samples, those at even distances are measured. No client has more than maxList.
const mostAnswers = 1 << 24

// mostMeasured is the number of classes of which measures take too long.
const mostMeasured = 1000

// Measured reports whether models have the measures of Summary.Measures: those that answer with one class,
// or with tags, once for each sample.
func Measured(m *nn.Model) bool {
	return !m.Loss().Numbers() && m.LabelsPerExample() == 1 && m.Classes() >= 2 && m.Classes() <= mostMeasured
}

// answerSize is how many numbers the answer about a sample has.
func answerSize(m *nn.Model) int {
	return measure.Size(m.Classes(), m.Loss().Target() == nn.ManyLabels)
}

// everyOf returns of how many samples one is answered for in an evaluation of a number of samples, 0 for none.
func (e *Engine) everyOf(asked bool, samples int) int {
	if !asked || !Measured(e.cfg.Model) {
		return 0
	}
	return 1 + samples*answerSize(e.cfg.Model)/mostAnswers
}

// scoredEvery is everyOf for the samples by which trials are judged, and for those by which thresholds are chosen in
// an evaluation that answers for one of tested test samples.
func (e *Engine) scoredEvery(tested int) int {
	if every := e.everyOf(e.cfg.Measures, 0); every > 0 || !e.chooses() {
		return every
	}
	return tested
}

// chooses reports whether evaluations choose thresholds.
func (e *Engine) chooses() bool {
	m := e.cfg.Model
	return Measured(m) && m.Classes() == 2 && m.Loss().Target() == nn.OneLabel
}

// newTally returns a tally of the masks and, with every > 0, of the answers about one in N samples
// of v, which differ between clients; nil without either.
func (e *Engine) newTally(every, client int, v data.View) *tally {
	masks := e.cfg.Data.Masks
	if len(masks) == 0 && every == 0 {
		return nil
	}
	t := &tally{masks: masks, left: make([]nn.Result, len(masks))}
	if m := e.cfg.Model; every > 0 {
		t.classes, t.tags = m.Classes(), m.Loss().Target() == nn.ManyLabels
		t.every = max(every, 1+v.Len()*answerSize(m)/(maxList/2))
		t.next, t.answers = client%t.every, measure.Begin(t.classes, t.tags)
	}
	return t
}

// answer keeps the answers about some samples of a batch, of which the outputs are known. Outputs that are no numbers
// say as much of all classes.
func (t *tally) answer(b *nn.Batch) {
	for ; t.every > 0 && t.next < b.N; t.next += t.every {
		z := b.Outputs[t.next*t.classes:][:t.classes]
		switch {
		case t.tags:
			for _, y := range b.Targets[t.next*t.classes:][:t.classes] {
				t.answers = append(t.answers, float64(y))
			}
		case b.Labels[t.next] < 0:
			continue
		default:
			t.answers = append(t.answers, float64(b.Labels[t.next]))
		}
		top, sum, from := slices.Max(z), 0.0, len(t.answers)
		for _, x := range z {
			p := 1 / (1 + det.Exp(-float64(x)))
			if !t.tags {
				p = det.Exp(float64(x) - float64(top))
			}
			sum += p
			t.answers = append(t.answers, p)
		}
		for i := from; i < len(t.answers); i++ {
			switch p := &t.answers[i]; {
			case !det.Finite(sum):
				*p = 1 / float64(t.classes)
			case !t.tags:
				*p /= sum
			}
		}
	}
	t.next -= b.N
}

// Forget lets go of the answers behind the validation scores, from which only Score.Metric makes anything.
func (e *Evaluation) Forget() {
	for _, s := range []*Summary{&e.GlobalVal, &e.PersonalizedVal} {
		s.answers, s.silent = nil, 0
	}
}

// auc is the ROC AUC of a score, nil for none.
func (s *Score) auc() *float64 {
	x := measure.Get(tuners.MetricROCAUC, []measure.Answers{s.Answers})
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// answersOf are what clients answered.
func answersOf(clients []clientScores, of func(*clientScores) setScore) []measure.Answers {
	return list.Of(clients, func(c clientScores) measure.Answers { return of(&c).Answers })
}

// answersFit says whether the answers of a score about n samples have the form of those of the engine's model.
func (e *Engine) answersFit(s *Score, n int) bool {
	m := e.cfg.Model
	return len(s.Answers) == 0 || Measured(m) && s.Answers.Fit(m.Classes(), m.Loss().Target() == nn.ManyLabels, n)
}

// mostAnswered bounds the bytes of the answers in an exam, and in a slot of a round.
func (e *Engine) mostAnswered() (exam, slot int64) {
	if !Measured(e.cfg.Model) {
		return 0, 0
	}
	const twice = 2 * 8 // numbers: of the weights as they are, and of the clients' own
	size, clients := int64(answerSize(e.cfg.Model)), slices.Concat(e.cfg.Data.Clients, e.cfg.Data.Unseen, e.centralParts())
	for i := range clients {
		exam += int64(clients[i].Test.Len()) * size
	}
	exam = min(exam, mostAnswers) + int64(len(clients))*(size+1)
	for i := range clients {
		n := int64(clients[i].Val.Len())*size + 1
		if e.cfg.Measures || e.chooses() {
			exam += n
		}
		if e.cfg.Measures {
			slot = max(slot, twice*n)
		}
	}
	return twice * exam, slot
}
