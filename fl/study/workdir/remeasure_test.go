package workdir

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/test/fltest"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/plugins"
)

// remeasured evaluates a model of a finished study again.
func remeasured(t *testing.T, path, mode, sha256 string, o Options) *result.Chosen {
	t.Helper()
	s, err := Open(t.Context(), path, nil, mode, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := s.Remeasure(t.Context(), o, s.Config.Eval, sha256)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func sameErrors(t *testing.T, what string, got, want *result.Errors) {
	t.Helper()
	a, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Errorf("%s measures again\n%s\nin the study\n%s", what, a, b)
	}
	if want.PersonalizedTest == nil || want.GlobalTest == nil {
		t.Errorf("%s: nothing was measured", what)
	}
}

// modelFor is a network that a method can train.
func modelFor(t *testing.T, method string, fed *data.Federation) *nn.Model {
	t.Helper()
	switch method {
	case "fedtp":
		return fltest.SmallTransformer(t, fed)
	case "supernet":
		return fltest.SmallSupernet(t, fed)
	case "fedbn":
		return fltest.SmallNormalized(t, fed)
	case "fednas", "directfednas":
		return fltest.SmallMixture(t, fed)
	}
	return fltest.SmallCNN(t, fed)
}

// TestRemeasureEveryMethod holds that a finished training is evaluated again to the
// digit, with a learning rate that has fallen to 0.
func TestRemeasureEveryMethod(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 10, 30)
	for _, name := range fl.Methods() {
		t.Run(name, func(t *testing.T) {
			m, err := fl.MethodByName(name)
			if err != nil {
				t.Fatal(err)
			}
			c := config.Default()
			c.Name, c.Method, c.Rounds, c.Cohort, c.Seed = name, name, 3, 4, 2
			c.Client.Client, c.Server = m.Defaults()
			c.Client.LR, c.Client.Epochs, c.Client.Batch = 0.02, 2, 8
			if name != "maml" && name != "mamladam" {
				c.Client.Kind, c.Client.Length = "cosine", 3
			}
			o := Options{Data: fed, Model: modelFor(t, name, fed)}
			path := filepath.Join(t.TempDir(), name)
			r, err := Run(t.Context(), path, &c, o)
			if err != nil {
				t.Fatal(err)
			}
			got := remeasured(t, path, config.ModeRun, r.WeightsSHA256, o)
			sameErrors(t, name, &got.Errors, &r.Errors)
			c.Eval.Every, c.Eval.Patience, c.Rounds, c.Client.LR = 1, 2, 6, 1
			patient, err := Run(t.Context(), path+"-patient", &c, o)
			if err != nil {
				t.Fatal(err)
			}
			got = remeasured(t, path+"-patient", config.ModeRun, patient.WeightsSHA256, o)
			sameErrors(t, name+" returning an earlier model", &got.Errors, &patient.Errors)
			if e := r.Evaluation; name != "fedtp" && e.PersonalizedTest.Loss == e.GlobalTest.Loss {
				t.Error("the personalized models are the global one")
			}
		})
	}
}

// TestRemeasureClientTuners holds the same for the models of a tuned study, on what each
// client tuner has chosen.
func TestRemeasureClientTuners(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 10, 30)
	for _, c := range []struct {
		name, method string
		sets         []string
	}{
		{"fedex", "reptile", []string{"client_tuner.options.configs=5"}},
		{"fedex", "ditto", []string{"client_tuner.options.configs=5", "space.server.lr=none", "space.server.momentum=none"}},
		{"fedex", "supernet", []string{
			"client_tuner.options.configs=5", "space.server.lr=none", "space.server.momentum=none",
			"space.client.lr=none",
		}},
		{"fathom", "fedavg", []string{
			"space.server.lr=none", "space.server.momentum=none", "space.client.epochs=none",
			"space.client.lr=none", "space.client.batch=none", "space.client.momentum=none",
			"space.client.weight_decay={log10=[-5,-2]}",
		}},
		{"perfedrlnas", "supernet", []string{
			"space.server.lr=none", "space.server.momentum=none",
			`tuner.allow=["client_key","examples_val"]`,
		}},
		{"fedtune-hrt", "fedavg", []string{
			"space.server.lr=none", "space.server.momentum=none", "space.client.lr=none", "space.client.epochs=none",
			"space.client.batch=none",
			`client_tuner.options.table="0.2 10 0.02 8 1; 0.9 30 0.1 4 2"`,
		}},
		{"none", "fedtp", []string{"space.server.lr=none", "space.server.momentum=none"}},
		{"none", "scaffold", []string{"space.server.lr=none", "space.server.momentum=none", "space.client.momentum=none"}},
	} {
		t.Run(c.name+"/"+c.method, func(t *testing.T) {
			settings, err := config.Load(config.Source{Preset: "fashion-fedex", ClientTuner: c.name, Sets: append([]string{
				"method=" + c.method, "space.server.decay=none", "cohort=4", "seed=3", "budget.rounds=12", "budget.trial_rounds=6",
				"tuner.options.eliminations=1",
			}, c.sets...)})
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Data: fed, Model: modelFor(t, c.method, fed), Launcher: InProcess(plugins.Builtin())}
			path := filepath.Join(t.TempDir(), "study")
			r, err := Tune(t.Context(), path, settings, o)
			if err != nil {
				t.Fatal(err)
			}
			got := remeasured(t, path, config.ModeTune, r.WeightsSHA256, o)
			sameErrors(t, "the returned model", &got.Errors, &r.Best.Errors)
			for _, other := range Others(r) {
				got := remeasured(t, path, config.ModeTune, other.Model.SHA256, o)
				sameErrors(t, other.File, &got.Errors, &other.Model.Errors)
			}
		})
	}
}

// TestRemeasureRefuses covers what the study cannot say.
func TestRemeasureRefuses(t *testing.T) {
	fed := fltest.OpenGlyphs(t, 10, 30)
	c := config.Default()
	c.Name, c.Rounds, c.Cohort = "x", 1, 2
	o := Options{Data: fed, Model: fltest.SmallCNN(t, fed)}
	path := filepath.Join(t.TempDir(), "x")
	if _, err := Run(t.Context(), path, &c, o); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, nil, config.ModeRun, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it was read only
	if _, err := s.Remeasure(t.Context(), o, c.Eval, "abc"); err == nil || !strings.Contains(err.Error(),
		"no model with the weights abc") {
		t.Errorf("an unknown model gives %v", err)
	}
}
