package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	_ "github.com/fedfast/fedfast/internal/test/glyphs"
)

// TestKeysWithoutEffect sets every key to its default, or to some value, by a file and by an assignment, for every method and both commands: a
// key that the method or the command does not use is refused in a line that names it, every other one is accepted.
func TestKeysWithoutEffect(t *testing.T) {
	refusals, reference := 0, Reference()
	for _, method := range fl.Methods() {
		m, err := fl.MethodByName(method)
		if err != nil {
			t.Fatal(err)
		}
		base := Default()
		base.setHyper(m.Defaults())
		lines := []string{"model=\"logistic\"", fmt.Sprintf("method=%q", method), `data.name="glyphs"`}
		var settable []KeyInfo
		for _, k := range reference {
			value := k.Default
			if p, ok := hyper.Find(k.Key); ok {
				value = p.Literal(new(base.Hyper()))
			}
			if value != "" && k.Key != "method" {
				settable, lines = append(settable, k), append(lines, k.Key+"="+value)
			}
		}
		for _, src := range []Source{{File: write(t, strings.Join(lines, "\n"))}, {Sets: lines}} {
			c, places, err := LoadPlaced(src)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range settable {
				// By what the method says that it uses, as the reference page has it, and not by the check.
				used := slices.Contains(m.Settings(), k.Key) ||
					slices.ContainsFunc(m.Uses, func(u hyper.Use) bool { return u.Key == k.Key })
				ofMethods := k.Key != "data.state_memory" && slices.ContainsFunc(k.UsedBy,
					func(user string) bool { return slices.Contains(fl.Methods(), user) })
				for _, mode := range []string{ModeRun, ModeTune} {
					other := slices.ContainsFunc(k.UsedBy, func(user string) bool {
						return strings.HasPrefix(user, "fedfast ") &&
							user != "fedfast "+mode
					})
					at := places.of[k.Key]
					at.at = func() string { return "there" }
					err := Places{of: map[string]place{k.Key: at}, file: *c}.CheckSet(c, mode)
					about, is := errors.AsType[*key.Error](err)
					want := ofMethods && !used || other && src.File == "" || needsMore[k.Key]
					switch {
					case (err != nil) != want:
						t.Errorf("%s, %s, %s by file %q: %v, but want an error: %v", mode, method, k.Key, src.File, err, want)
					case err != nil && (!is || about.Key != k.Key || strings.Contains(err.Error(), "\n")):
						t.Errorf("%s: %v names another key, or has several lines", k.Key, err)
					case err != nil:
						refusals++
					}
				}
			}
		}
	}
	if refusals < 1000 {
		t.Errorf("only %d refusals", refusals)
	}
}

// needsMore are keys that something else has to be set for.
var needsMore = map[string]bool{}

func init() {
	for _, k := range keys {
		table, name, _ := strings.Cut(k.Name, ".")
		switch {
		case table == "dp" && name != "epsilon" && name != "noise",
			table == "update" && name != "attack" && name != "sparsify" && name != "quantize",
			table == "aggregator" && name != "name",
			table == "sampler",
			table == "time" && !k.UsedWith("sync"), table == "time" && shapeOf(k.Name) != "",
			table == "fleet" && !k.UsedWith("equal", "always"),
			slices.Contains(adaptive, k.Name):
			needsMore[k.Name] = true
		}
	}
}

// TestKeysThatAreShared: study files are shared between the commands and between methods, assignments take back what a file sets, and the
// file that a study records repeats all keys.
func TestKeysThatAreShared(t *testing.T) {
	file := write(t, `
method = "fedprox"
model = "logistic"
rounds = 5
target = "global"
client.mu = 0.1
client.lr = 0.2
data.name = "glyphs"
budget = { rounds = 100, trial_rounds = 10 }
tuner.name = "random"
space."client.lr" = { log10 = [-3, 0] }
`)
	private := write(t,
		"model = \"logistic\"\ndata.name = \"glyphs\"\n[dp]\nepsilon = 8\nclip = 1\naccountant = \"rdp\"\n")
	for _, tt := range []struct {
		src  Source
		mode string
		want string // empty for no error
	}{
		{Source{File: file}, ModeRun, ""},
		{Source{File: file}, ModeTune, ""},
		{Source{File: file, Sets: []string{"budget.rounds=200"}}, ModeTune, ""},
		{
			Source{File: file, Sets: []string{"budget.rounds=200"}},
			ModeRun,
			"--set budget.rounds=200: budget.rounds = 200: only `fedfast tune` uses it; leave it out, or set rounds",
		},
		{
			Source{File: file, Sets: []string{"rounds=3"}},
			ModeTune,
			"--set rounds=3: rounds = 3: only `fedfast run` uses it; leave it out, or set budget.rounds",
		},
		{
			Source{File: file, Sets: []string{`space."client.mu"={uniform=[0,1]}`}},
			ModeRun,
			"space.client.mu: only `fedfast tune` uses it; leave it out",
		},
		{
			Source{File: file, Sets: []string{"tuner.options.eta=3"}},
			ModeRun,
			"tuner.options.eta: only `fedfast tune` uses it; leave it out",
		},
		{
			Source{File: file, Sets: []string{"client_tuner.options.eta=3"}},
			ModeTune,
			"client_tuner.options.eta: there is no client tuner; set client_tuner.name, or leave it out",
		},
		{Source{File: file, Sets: []string{"client.lr=0.3"}}, ModeTune, ""}, // the reference has it
		{
			Source{File: file, Sets: []string{"client.lr=0.3", "tuner.reference=false"}},
			ModeTune,
			`--set client.lr=0.3: client.lr = 0.3: the study searches it; set space."client.lr", or remove it there with --set 'space."client.lr"=none'`,
		},
		{Source{File: file, Sets: []string{"client.lr=0.3", `space."client.lr"=none`}}, ModeTune, ""},
		{Source{File: file, Sets: []string{"client.lr=0.3"}}, ModeRun, ""},
		{Source{File: private, Sets: []string{"dp.epsilon=0", "dp.clip=0"}}, ModeRun, ""},
		{
			Source{File: private, Sets: []string{"dp.epsilon=0", "dp.clip=0", "dp.delta=1e-6"}},
			ModeRun,
			"--set dp.delta=1e-6: dp.delta = 1e-06: only private training uses it; set dp.epsilon, such as 8, or leave it out",
		},
		{Source{File: file, Sets: []string{"method=fedavg", "client.mu=0"}}, ModeRun, ""},
		{Source{File: file, Sets: []string{"method=maml", "client.mu=0"}}, ModeRun, ""},
		{
			Source{File: file, Sets: []string{"method=maml", "client.mu=0", "client.epochs=1"}},
			ModeRun,
			`client.epochs = 1: method "maml" does not use it; leave it out, or use one of the methods afl, apfl, `,
		},
		{Source{File: file, Sets: []string{"client={}"}}, ModeRun, "--set client={}: sets no key; want key=value"},
		{
			Source{File: file, Sets: []string{"select=paper", "finalists.clients=1000"}},
			ModeTune,
			`finalists.clients = 1000: not used with select = "paper"; leave it out`,
		},
	} {
		c, places, err := LoadPlaced(tt.src)
		if err == nil {
			err = places.CheckSet(c, tt.mode)
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s %v: %v, want %s", tt.mode, tt.src.Sets, err, tt.want)
		}
	}
	for _, method := range fl.Methods() {
		c, err := Load(Source{Sets: []string{"model=logistic", "data.name=glyphs", "method=" + method, "rounds=3"}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		again, places, err := LoadPlaced(Source{File: write(t, string(text)), Sets: []string{"cohort=3"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := places.CheckSet(again, ModeRun); err != nil {
			t.Errorf("%s: the recorded file: %v", method, err)
		}
	}
}
