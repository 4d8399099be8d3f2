package study

import (
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/result"
)

// errorsOf picks the errors of an evaluation.
func errorsOf(s *Setup, engine *fl.Engine, e *fl.Evaluation) (result.Errors, error) {
	m := s.Model
	e.Forget()
	trivial, err := trivialOf(e, m, s.Data, engine.EvalSample(s.Config.Eval.Clients))
	if err != nil {
		return result.Errors{}, err
	}
	r := result.Errors{Trivial: trivial, Measure: result.MeasureOfModel(m), Evaluation: e, Rates: ratesOf(e, someError)}
	for _, mask := range s.Data.Masks {
		r.Masked = append(r.Masked, result.MaskedRates{Mask: mask.Name, Rates: ratesOf(e, func(s fl.Summary) *float64 {
			for _, m := range s.Masked {
				if m.Mask == mask.Name {
					return &m.Error
				}
			}
			return nil
		})})
	}
	return r, nil
}

// someError is the error of a summary, nil if it is of no clients.
func someError(s fl.Summary) *float64 {
	if s.Clients == 0 {
		return nil
	}
	return &s.Error
}

// ratesOf takes one error, nil where there is none, of each part of an evaluation.
func ratesOf(e *fl.Evaluation, of func(fl.Summary) *float64) result.Rates {
	return result.Rates{
		GlobalVal: of(e.GlobalVal), GlobalTest: of(e.GlobalTest), PersonalizedVal: of(e.PersonalizedVal),
		PersonalizedTest: of(e.PersonalizedTest), UnseenTest: of(e.Unseen), UnseenAdapted: of(e.UnseenAdapted),
	}
}
