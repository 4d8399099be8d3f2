package main

import (
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/methods"
)

func init() { must(fl.Register(capped())) }

// capped is FedAvg with the weight of a client bounded: it counts for min(n, 20) samples
// of its n, so that a few large clients do not decide alone.
func capped() fl.Method {
	const most = 20
	m := methods.FedAvg()
	train := m.Local
	m.Name = "capped"
	m.Doc = "FedAvg in which no client counts for more than 20 samples"
	m.Paper = "McMahan et al. 2018, Learning Differentially Private Recurrent Language Models, arXiv:1710.06963"
	m.Differs = "neither clips nor adds noise"
	m.Local = func(l *fl.Local) error {
		if err := train(l); err != nil {
			return err
		}
		l.Weight = min(l.Weight, most)
		return nil
	}
	return m
}
