package fl

import (
	"cmp"
	"fmt"

	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/hyper"
)

// Plan holds the hyperparameters of a round.
type Plan struct {
	// Server is b in Agg_b; the zero ServerParams are the method's defaults.
	Server ServerParams
	// Clients holds one c in Loc_c for all slots of the cohort, or one for each,
	// made by Method.Defaults and changed. nil, without a Table, is
	// the method's defaults. Where Engine.DrawsCohorts is false, they are for the clients
	// that begin until the next step, in that order, and from the first on again when
	// there are more; fleet.Time.Slots says how many these are.
	Clients []ClientParams
	// Table, instead of Clients, lets every client look its own up.
	Table []hyper.Cell
	// Time is how the server works on the fleet; the zero value is Config.Time, which
	// bounds it: the same mode, and no more clients at a time.
	Time fleet.Time
	// Sampler says how clients are chosen; the zero value is Config.Sampler, whose Kind it has.
	Sampler fleet.Sampler
	// Update and Aggregator have the numbers of what happens to updates; the zero values stand
	// for Config.Updates and Config.Aggregation.
	Update     hyper.Update
	Aggregator hyper.Aggregation
	// Probes names the measurements to take, see Probes; each kind of
	// val_ probe costs an evaluation of every client of the cohort.
	Probes []string
}

// slot returns which of Clients the n-th client that begins has.
func (p Plan) slot(n int) int { return n % max(1, len(p.Clients)) }

// client returns the hyperparameters of a slot that holds a client of e.
func (p Plan) client(e *Engine, slot, client int) (ClientParams, error) {
	if len(p.Table) > 0 {
		return e.Lookup(p.Table, client)
	}
	return p.Clients[p.slot(slot)], nil
}

// filled returns the plan with the defaults of the training for what it leaves out.
func (p Plan) filled(c *Config) Plan {
	client, server := c.Method.Defaults()
	if p.Server == (ServerParams{}) {
		p.Server = server
	}
	if p.Time == (fleet.Time{}) {
		p.Time = c.Time
	}
	if p.Sampler == (fleet.Sampler{}) {
		p.Sampler = c.Sampler
	}
	if p.Update == (hyper.Update{}) {
		p.Update = c.Updates.Update
	}
	if p.Aggregator == (hyper.Aggregation{}) {
		p.Aggregator = c.Aggregation.Aggregation
	}
	if p.Clients == nil && len(p.Table) == 0 {
		p.Clients = []ClientParams{client}
	}
	return p
}

// check returns an error that names what is wrong with the plan; 0 slots are any number.
func (p Plan) check(cfg *Config, slots int) error {
	clients := p.Clients
	for _, c := range p.Table {
		clients = append(clients, c.Params)
	}
	if err := p.checkTable(); err != nil {
		return err
	}
	if n := len(p.Clients); len(p.Table) == 0 && n != 1 && slots > 0 && n != slots {
		return fmt.Errorf("plan has %d client configurations: must be 1 or one for each of %d clients", len(p.Clients), slots)
	}
	for _, c := range clients {
		if err := cfg.Method.CheckParams(c, p.Server); err != nil {
			return err
		}
	}
	if len(clients) == 1 {
		return cmp.Or(cfg.checkBatches(clients[0], cfg.Data.Clients...), cfg.checkBatches(clients[0], cfg.Data.Unseen...))
	}
	return nil
}

// ClientParams are the hyperparameters of one client's local training, c in
// Loc_c. They begin as Method.Defaults returns them; others are refused.
type ClientParams = hyper.Client

// ServerParams are the hyperparameters of the server, b in Agg_b.
type ServerParams = hyper.Server
