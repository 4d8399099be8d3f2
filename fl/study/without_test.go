package study

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// TestWithoutIsTheSameForAnyNumberOfWorkers tunes with both baselines, and checks what the comparison says against
// the errors that it tells of the single clients.
func TestWithoutIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	var first []result.Comparand
	for _, workers := range []int{1, 2, 7} {
		s := glyphStudy(t, &script{params: learningRates(0.3, 1e-3), rung: 3, to: 5})
		s.Workers, s.Config.Eval.Baselines = workers, []string{config.BaselineLocal, config.BaselinePooled}
		r, err := Tune(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range r.Without {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != "local federated personalized pooled" {
			t.Fatalf("compared with %s", got)
		}
		if first == nil {
			first = r.Without
		} else if !reflect.DeepEqual(first, r.Without) {
			t.Errorf("%d workers: %+v, one: %+v", workers, r.Without, first)
		}
	}
	local, federated := &first[0], &first[1]
	if local.Settings != "tuned" && local.Settings != "file" || federated.Settings != "" || len(local.Clients) == 0 {
		t.Errorf("local %+v, federated %+v", local, federated)
	}
	sum, samples, better := 0.0, 0, 0
	for i, c := range local.Clients {
		d := c.Test - federated.Clients[i].Test
		sum, samples = sum+float64(c.Samples)*d, samples+c.Samples
		if d > 0 {
			better++
		}
	}
	g := federated.OverLocal
	if math.Abs(g.Gain-sum/float64(samples)) > 1e-12 || g.Better != better || g.Clients != len(local.Clients) ||
		g.Half == nil {
		t.Errorf("gain %+v, want %v, %d clients better", g, sum/float64(samples), better)
	}
	if federated.OverFederated != nil || local.OverLocal != nil || first[3].OverFederated == nil {
		t.Error("a model is compared with itself, or pooled with nothing")
	}
}

// TestLocalSeesItsOwnSamplesAlone holds that what a client trains alone does not depend on the other clients' samples.
func TestLocalSeesItsOwnSamplesAlone(t *testing.T) {
	local := func(change func(fed *data.Federation)) result.Comparand {
		s := glyphStudy(t, nil)
		s.Tuner, s.Config.Rounds, s.Config.Eval.Baselines = nil, 6, []string{config.BaselineLocal}
		fed := *s.Data
		fed.Clients = append([]data.Client(nil), fed.Clients...)
		change(&fed)
		s.Data = &fed
		r, err := Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return r.Without[0]
	}
	was := local(func(*data.Federation) {})
	now := local(func(fed *data.Federation) {
		for i := 1; i < len(fed.Clients); i++ {
			fed.Clients[i].Train = fed.Clients[0].Train
		}
	})
	if !reflect.DeepEqual(was.Clients[0], now.Clients[0]) || reflect.DeepEqual(was.Clients, now.Clients) {
		t.Errorf("client 0 has %+v, and %+v where the others have other samples", was.Clients[0], now.Clients[0])
	}
}

func TestBaselinesAreRefused(t *testing.T) {
	for want, change := range map[string]func(s *Setup){
		"no client has test samples": func(s *Setup) {
			for i := range s.Data.Clients {
				s.Data.Clients[i].Test = data.View{}
			}
		},
		"that samples cannot be pooled": func(s *Setup) { s.Data.Lazy = true },
	} {
		s := glyphStudy(t, nil)
		fed := *s.Data
		fed.Clients = append([]data.Client(nil), fed.Clients...)
		s.Data, s.Tuner, s.Config.Eval.Baselines = &fed, nil, []string{config.BaselinePooled}
		change(&s)
		if _, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
	c := config.Default()
	c.DP.Epsilon, c.Eval.Baselines = 8, []string{config.BaselineLocal}
	const want = "eval.baselines: their trainings are not in the account"
	if err := c.CheckFor(config.ModeRun); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("private: %v", err)
	}
}
