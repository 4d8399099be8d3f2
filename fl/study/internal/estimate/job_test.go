package estimate

import (
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/fleet"
	"github.com/fedfast/fedfast/fl/study/config"
)

// TestJobsAreTheEngines compares the jobs of estimates with those that the engine runs.
func TestJobsAreTheEngines(t *testing.T) {
	for _, sets := range [][]string{
		{"method=fedavg", "client.epochs=2"},
		{"method=fedprox", "client.steps=3", "client.wrap=true", "precision=fp32"},
		{"method=perfedavg", "client.first_order=false"},
		{"method=ditto", "client.trainable=head.*"},
	} {
		c, err := config.Load(config.Source{Sets: append([]string{
			"data.name=glyphs", "data.clients=6", "data.samples=40",
			"cohort=4", "model=logistic",
		}, sets...)})
		if err != nil {
			t.Fatal(err)
		}
		fed, m, err := config.Prepare(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		method, err := fl.MethodByName(c.Method)
		if err != nil {
			t.Fatal(err)
		}
		devices := fleet.Config{Devices: "lognormal"}
		engine, err := fl.New(fl.Config{
			Model: m, Data: fed, Method: method, Cohort: c.Cohort, Server: &c.Server,
			Fleet: &devices, Workers: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		r, err := engine.NewTrial(0).Round(t.Context(), fl.Plan{Clients: []fl.ClientParams{c.Client.Client}})
		if err != nil {
			t.Fatal(err)
		}
		clients := make([]fleet.Client, len(fed.Clients))
		f, err := fleet.New(devices, 0, clients)
		if err != nil {
			t.Fatal(err)
		}
		job, _, err := Jobs(c, fed, m)
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Slots {
			s := &r.Slots[i]
			j := job(s.Client)
			if o := f.Run(j); o.End != s.Job.End || o.Computed != s.Job.Computed || o.Computed == o.Received {
				t.Errorf("%v: client %d ends at %d in the engine, at %d in the estimate", sets, s.Client, s.Job.End, o.End)
			}
		}
	}
}
