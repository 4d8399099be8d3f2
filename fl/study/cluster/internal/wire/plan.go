package wire

import (
	"encoding/json"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/hyper"
)

// Plan is an fl.Plan in JSON. A float64 is written in the shortest form that is read back
// as the same bits.
type Plan struct {
	Server  json.RawMessage   `json:"server"`
	Clients []json.RawMessage `json:"clients,omitempty"`
	Table   []cell            `json:"table,omitempty"`
	Time    fleet.Time        `json:"time,omitzero"`
	Sampler fleet.Sampler     `json:"sampler,omitzero"`
	Probes  []string          `json:"probes,omitempty"`

	Update     hyper.Update      `json:"update,omitzero"`
	Aggregator hyper.Aggregation `json:"aggregator,omitzero"`
}

type cell struct {
	HI      float64         `json:"hi"`
	Samples float64         `json:"samples"`
	Params  json.RawMessage `json:"params"`
}

// EncodePlan encodes a plan.
func EncodePlan(p fl.Plan) (*Plan, error) {
	out := &Plan{Time: p.Time, Sampler: p.Sampler, Update: p.Update, Aggregator: p.Aggregator, Probes: p.Probes}
	var err error
	if out.Server, err = json.Marshal(p.Server); err != nil {
		return nil, err
	}
	for i := range p.Clients {
		c, err := json.Marshal(p.Clients[i])
		if err != nil {
			return nil, err
		}
		out.Clients = append(out.Clients, c)
	}
	for i := range p.Table {
		c, err := json.Marshal(p.Table[i].Params)
		if err != nil {
			return nil, err
		}
		out.Table = append(out.Table, cell{p.Table[i].HI, p.Table[i].Samples, c})
	}
	return out, nil
}

// Decode decodes a plan. Params must begin as the defaults; every field is then
// overwritten.
func (p *Plan) Decode() (fl.Plan, error) {
	out := fl.Plan{Server: hyper.DefaultServer(), Time: p.Time, Sampler: p.Sampler, Update: p.Update, Aggregator: p.Aggregator, Probes: p.Probes}
	if err := json.Unmarshal(p.Server, &out.Server); err != nil {
		return out, err
	}
	for _, raw := range p.Clients {
		c := hyper.DefaultClient()
		if err := json.Unmarshal(raw, &c); err != nil {
			return out, err
		}
		out.Clients = append(out.Clients, c)
	}
	for _, t := range p.Table {
		c := hyper.DefaultClient()
		if err := json.Unmarshal(t.Params, &c); err != nil {
			return out, err
		}
		out.Table = append(out.Table, hyper.Cell{HI: t.HI, Samples: t.Samples, Params: c})
	}
	return out, nil
}
