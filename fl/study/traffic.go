package study

import (
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/internal/record"
	"github.com/fedfast/fedfast/fl/study/result"
)

// addTraffic counts a round.
func addTraffic(t *result.Traffic, rec *record.Round) {
	t.Down += rec.Down
	t.Up += rec.Up
	t.Plain = t.Down
	t.Attacks += rec.Attackers
	t.Updates += len(rec.Clients)
}

// trafficOf returns that of a run with a configuration.
func (t *entrant) trafficOf(c *config.Config) *result.Traffic {
	all := t.traffic
	all.Attack, all.Aggregator = c.Update.Attack, c.Aggregator.Name
	return &all
}
