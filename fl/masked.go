package fl

import (
	"slices"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/internal/measure"
	"github.com/fedfast/fedfast/nn"
)

// MaskedError is an error that leaves out the labels of a mask, such as words that
// the vocabulary lacks.
type MaskedError struct {
	// Mask is the mask's name, see data.Mask.
	Mask string `json:"mask"`
	// Error is the mean over the clients, weighted by their numbers of examples as
	// Summary.Error is. A client whose labels are all left out does not count.
	Error float64 `json:"error"`
	// Labels counts the labels that are left.
	Labels int `json:"labels"`
}

// tally counts, mask by mask, the labels that are left and those of them that were
// right, over the batches of an evaluation, and keeps answers.
type tally struct {
	masks []data.Mask
	left  []nn.Result // without losses
	right []bool      // of the labels of a batch

	answers measure.Answers
	classes int
	tags    bool
	every   int // one in N samples is answered for; 0 is none
	next    int // samples before the next one of these
}

// add counts the labels of a batch of which right is known.
func (t *tally) add(labels []int32) {
	for m, mask := range t.masks {
		sum := &t.left[m]
		for i, l := range labels {
			if l < 0 || slices.Contains(mask.Labels, l) {
				continue
			}
			sum.Count++
			if t.right[i] {
				sum.Correct++
			}
		}
	}
}

// score is the score of an evaluation with the result r, with the answers that it kept.
func (t *tally) score(r outcome) Score {
	s := scoreOf(r)
	if t != nil {
		s.Answers = t.answers
	}
	return s
}

// maskedScore is a client's error under a mask with the number of labels that the
// mask leaves.
type maskedScore struct {
	err  float64
	left int
}

// scores returns the errors of an evaluation with the result r, one a mask.
func (t *tally) scores(r outcome) []maskedScore {
	if t == nil {
		return nil
	}
	scores := make([]maskedScore, len(t.left))
	for m, left := range t.left {
		left.Loss = r.Loss // a loss that is no number makes every answer wrong
		scores[m] = maskedScore{scoreOf(outcome{Result: left}).Error, left.Count}
	}
	return scores
}

// summarizeMasked folds the clients' errors under each mask in the order of the
// clients.
func summarizeMasked(clients []clientScores, of func(*clientScores) setScore, masks []data.Mask) []MaskedError {
	var all []MaskedError
	for m, mask := range masks {
		e := MaskedError{Mask: mask.Name}
		examples := 0
		for i := range clients {
			c := of(&clients[i])
			if c.n == 0 || c.masked[m].left == 0 {
				continue
			}
			e.Error += float64(c.masked[m].err * float64(c.n))
			e.Labels += c.masked[m].left
			examples += c.n
		}
		if e.Labels > 0 {
			e.Error /= float64(examples)
			all = append(all, e)
		}
	}
	return all
}
