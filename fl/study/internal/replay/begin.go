package replay

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/internal/store"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// Begin records that a process works on the study, and first what the study is,
// or compares that with the record.
func (p *Past) Begin(c *config.Config, mode string, fed *data.Federation, m *nn.Model, environment any) error {
	if p.Store == nil {
		return nil
	}
	if p.Study != nil {
		if err := p.Study.Match(p.Store.Dir(), c, mode); err != nil {
			return err
		}
	} else if err := p.AppendStudy(c, mode); err != nil {
		return err
	}
	if p.Result != nil && p.data == nil {
		return nil
	}
	if err := p.CheckData(c, fed, m); err != nil {
		return err
	}
	if err := p.moved(c); err != nil {
		return err
	}
	if p.Result != nil {
		return p.Flush()
	}
	if err := p.Append(store.KindSession, tuners.StudySession, 0, environment); err != nil {
		return err
	}
	return p.Flush() // from here on it can be resumed
}

// AppendStudy records what the study is.
func (p *Past) AppendStudy(c *config.Config, mode string) error {
	rec, err := record.StudyOf(c, mode)
	if err != nil {
		return err
	}
	return p.Append(store.KindStudy, tuners.StudySession, 0, rec)
}

// moved records a configuration that differs from the recorded one in keys that
// change no result, once the data there were found to be the study's.
func (p *Past) moved(c *config.Config) error {
	if p.Study == nil {
		return nil // it was just recorded
	}
	text, err := c.Since(p.Study.Config)
	if err != nil || text == nil {
		return err
	}
	return p.Append(store.KindMoved, tuners.StudySession, 0, record.Moved{Config: string(text)})
}

// OtherDataError is the error of a study that began on other data.
type OtherDataError struct{ error }

// CheckData records the data that the study begins on, or compares them with the
// record: rounds on two datasets would be no training.
func (p *Past) CheckData(c *config.Config, fed *data.Federation, m *nn.Model) error {
	rec, err := record.DataOf(c, fed, m)
	switch {
	case err != nil:
		return err
	case rec.Fingerprint == "" && rec.Start == "" && rec.Fleet == "":
		return nil // it was drawn, or is the caller's own
	case p.data == nil:
		return p.Append(store.KindData, tuners.StudySession, 0, rec)
	case p.data.Start != rec.Start:
		return fmt.Errorf("%s contains a study that started from other weights than those in its init file: then %s; now "+
			"%s; restore the file, or use another directory", p.Store.Dir(), p.data.Start, rec.Start)
	case p.data.Fleet != rec.Fleet:
		return fmt.Errorf("%s contains a study that started with other contents of the files in [fleet]: SHA-256 then %s, "+
			"now %s; restore the files, or use another directory", p.Store.Dir(), p.data.Fleet, rec.Fleet)
	case p.data.Fingerprint != rec.Fingerprint:
		return OtherDataError{fmt.Errorf("%s contains a study that started with other data than those at its data.path: "+
			"then %s; now %s; restore the data, or use another directory", p.Store.Dir(), p.data, rec)}
	}
	return nil
}

// CheckData compares data with those on which the study of a store, if it is recorded, began.
func CheckData(ctx context.Context, s *store.Store, c *config.Config, fed *data.Federation, m *nn.Model) error {
	p := New(s)
	if err := s.Each(ctx, p.read, store.KindData); err != nil || p.data == nil {
		return err
	}
	return p.CheckData(c, fed, m)
}
