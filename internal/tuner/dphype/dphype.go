// Package dphype is the built-in tuner `dphype`: DP-Hype (arXiv 2510.04902). Every client
// trains by itself with the same configurations and votes for its best ones; the configuration
// of most votes, to which a private study adds noise, is trained by all clients together.
package dphype

import (
	"github.com/fedfast/fedfast/internal/tuner/internal/oneshot"
	"github.com/fedfast/fedfast/internal/tuner/internal/options"
	"github.com/fedfast/fedfast/tuners"
)

// Tuner is DP-Hype.
var Tuner = options.Tuner[oneshot.Plan]{About: options.About("dphype", oneshot.Options...), Plan: plan, Study: open}

func plan(r *options.Reader, req tuners.ValidateRequest) oneshot.Plan {
	p := oneshot.ReadPlan(r, req)
	p.Search.Votes = r.Whole("votes", 1, oneshot.MostConfigs)
	return p
}

func open(req tuners.OpenRequest, p oneshot.Plan) (tuners.Session, error) {
	return oneshot.Open("dphype", req, p, winner)
}

// winner returns the configuration of most votes, of equal ones the first.
func winner(configs []tuners.Params, r tuners.TrialReport) (tuners.Params, error) {
	best := 0
	for i, m := range r.Measured {
		if m.Votes > r.Measured[best].Votes {
			best = i
		}
	}
	return configs[best], nil
}
