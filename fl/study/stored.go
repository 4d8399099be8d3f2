package study

import (
	"errors"

	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/tuners"
)

// finish records the end of the study.
func (d *driver) finish(r result.End) error {
	errs := errorsIn(&r)
	if e := errs[0].Evaluation; e != nil && len(e.Clients) > 0 {
		if err := d.past.Append(store.KindClients, tuners.StudySession, 0, record.ClientsOf(e.Clients)); err != nil {
			return err
		}
	}
	for _, e := range errs {
		if e.Evaluation != nil {
			e.Evaluation.Clients = nil // as in a result that is read again
		}
	}
	return errors.Join(d.past.Append(store.KindResult, tuners.StudySession, 0, r), d.past.Flush())
}

// errorsIn are the errors of all models, the returned one first.
func errorsIn(r *result.End) (all []*result.Errors) {
	if r.Run != nil {
		return []*result.Errors{&r.Run.Errors}
	}
	all = append(all, &r.Tune.Errors)
	for _, m := range r.Tune.Models() {
		all = append(all, &m.Errors)
	}
	return all
}
