package record

import (
	"fmt"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/internal/sys/oneline"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// Study is the first row.
type Study struct {
	Name string `json:"name"`
	// Mode is "tune" or "run".
	Mode string `json:"mode"`
	// Config is the study file that Encode writes.
	Config      string `json:"config"`
	TrialRounds int    `json:"trial_rounds"`
	// Direction is the direction of the scores: "minimize" or "maximize".
	Direction string `json:"direction"`
}

// StudyOf describes a study; mode is config.ModeTune or config.ModeRun.
func StudyOf(c *config.Config, mode string) (Study, error) {
	text, err := config.Encode(c)
	return Study{Name: c.Name, Mode: mode, Config: string(text), TrialRounds: c.Budget.TrialRounds, Direction: fmt.Sprint(c.Aim().Direction)}, err
}

// Match returns an error when a study is not the recorded one, a *config.DiffError when
// their configurations differ. dir is for messages.
func (r *Study) Match(dir string, c *config.Config, mode string) error {
	if r.Mode != mode {
		return fmt.Errorf("%s contains a study of `fedfast %s`; this is `fedfast %s`: choose another directory, or resume it with `fedfast study resume %s`", dir, r.Mode, mode, oneline.Path(dir))
	}
	return config.Match(dir, r.Config, c)
}

// Moved is the study file with other values of keys that change no result, or with more rounds.
type Moved struct {
	Config string `json:"config"`
}

// Priors are trials of finished studies that a tuner begins with.
type Priors struct {
	Priors []tuners.Prior `json:"priors"`
	// Studies is of how many, Trials of how many trials, and Dropped of how many others that
	// do not fit the study.
	Studies int `json:"studies"`
	Trials  int `json:"trials"`
	Dropped int `json:"dropped"`
	// Rounds is how many all their trials ran.
	Rounds int `json:"rounds,omitempty"`
}

// List returns the trials, none of nil.
func (p *Priors) List() []tuners.Prior {
	if p == nil {
		return nil
	}
	return p.Priors
}

// Data identifies the data that a study began on.
type Data struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	Clients     int    `json:"clients"` // of the federation
	Train       int    `json:"train"`   // samples in the files
	Test        int    `json:"test"`
	// Start is the digest of the weights in the file that init names, if it does.
	Start string `json:"start,omitempty"`
	// Fleet is the fingerprint of the files of the fleet, if there are any.
	Fleet string `json:"fleet,omitempty"`
}

// DataOf describes a federation, the weights that a model begins from and the files of the
// clients' devices.
func DataOf(c *config.Config, fed *data.Federation, m *nn.Model) (r Data, err error) {
	r = Data{Name: fed.Name, Fingerprint: fed.Fingerprint, Clients: len(fed.Clients), Train: fed.Files.Train, Test: fed.Files.Test}
	if w := m.Start(); w != nil {
		r.Start = m.SHA256(w)
	}
	r.Fleet, err = c.Fleet.Fingerprint()
	return r, err
}

// String describes the data.
func (r Data) String() string {
	return fmt.Sprintf("%s of %d clients, %d training and %d test samples in its files, fingerprint %s", r.Name, r.Clients, r.Train, r.Test, r.Fingerprint)
}

// Baseline is the beginning of a comparison with random search.
type Baseline struct {
	Configurations int    `json:"configurations"`
	Rounds         int    `json:"rounds"`
	Target         string `json:"target"`
	Maximize       bool   `json:"maximize,omitempty"` // the scores
}

// Alone is what a baseline without federation came to: config.Local or config.Pooled.
type Alone struct {
	Name string `json:"name"`
	// Settings says whose hyperparameters it was trained with, "tuned" or "file"; Params are those.
	Settings string        `json:"settings"`
	Params   tuners.Params `json:"params,omitempty"`
	// Val is the loss on the clients' validation samples, Test what their test samples measured, and
	// Clients that of the single ones, as personalized errors of local and global ones of pooled models.
	Val     Real       `json:"val_loss"`
	Test    fl.Summary `json:"test"`
	Clients Clients    `json:"clients"`
}
