package hyper

import (
	"math"
	"strings"
	"testing"
)

// TestEveryHyperparameterIsWhole holds what the reference and errors rest on.
func TestEveryHyperparameterIsWhole(t *testing.T) {
	v := Values{Client: DefaultClient(), Server: DefaultServer()}
	if err := v.Client.Check(); err != nil {
		t.Error(err)
	}
	if err := v.Server.Check(); err != nil {
		t.Error(err)
	}
	for i, p := range Table() {
		switch {
		case p.Doc == "" || strings.HasSuffix(p.Doc, "."):
			t.Errorf("%s: doc %q", p.Name, p.Doc)
		case p.Text():
			if len(p.Words) < 2 {
				t.Errorf("%s may be one of %v", p.Name, p.Words)
			}
		case !p.Truth() && p.In.String() == "":
			t.Errorf("%s has no range", p.Name)
		case p.Get(&v) != p.Default:
			t.Errorf("%s is %v by default, want %v", p.Name, p.Get(&v), p.Default)
		}
		// Each has a field of its own.
		other := v
		x := 3.0
		if p.Truth() || p.Text() {
			x = 1 - p.Default
		}
		p.put(&other, x)
		for k, q := range Table() {
			if moved := q.Get(&other) != q.Get(&v); moved != (i == k) {
				t.Errorf("%s moved %s: %v", p.Name, q.Name, moved)
			}
		}
	}
}

func TestSetTakesWhatFits(t *testing.T) {
	for _, tt := range []struct {
		key   string
		value any
		want  float64
		err   string
	}{
		{"client.lr", 0.5, 0.5, ""},
		{"client.lr", "fast", 0, "client.lr: must be a number, not fast"},
		{"client.lr", true, 0, "client.lr: must be a number, not true"},
		{"client.batch", 16.0, 16, ""},
		{"client.batch", 1.5, 0, "client.batch: must be an integer, not 1.5"},
		{"client.batch", math.Inf(1), 0, "client.batch: must be an integer, not +Inf"},
		{"client.steps", 1e10, 0, "client.steps: must be an integer, not 1e+10"},
		{"client.first_order", true, 1, ""},
		{"client.optimizer", "adamw", 2, ""},
		{"client.optimizer", "sgdd", 0, "client.optimizer: must be one of sgd, adam, adamw, not sgdd"},
		{"client.optimizer", 1.0, 0, "client.optimizer: must be one of sgd, adam, adamw, not 1"},
		{"server.weighted", 1.0, 0, "server.weighted: must be true or false, not 1"},
	} {
		p, ok := Find(tt.key)
		if !ok {
			t.Fatal(tt.key)
		}
		var v Values
		err := p.Set(&v, tt.value)
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s = %v: error %v, want %s", tt.key, tt.value, err, tt.err)
			}
			continue
		}
		if err != nil || p.Get(&v) != tt.want {
			t.Errorf("%s = %v: %v, %v", tt.key, tt.value, p.Get(&v), err)
		}
	}
	if _, ok := Find("client.learning_rate"); ok {
		t.Error("another name is found as a key")
	}
}
