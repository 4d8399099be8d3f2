package fl

import (
	"math"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/hyper"
)

func TestLocalSteps(t *testing.T) {
	tests := []struct {
		name           string
		epochs         float64
		steps, batch   int
		wrap           bool
		n, want, tasks int
	}{
		{"one pass, short last batch", 1, 0, 20, false, 50, 3, 50},
		{"two passes, short batch in each", 2, 0, 20, false, 50, 6, 100},
		{"part of a pass", 0.5, 0, 20, false, 50, 2, 25},
		{"one and a half passes", 1.5, 0, 20, false, 50, 5, 75},
		{"batch above the data", 3, 0, 128, false, 50, 3, 150},
		{"wrapped passes are joined", 2, 0, 20, true, 50, 5, 100},
		{"wrapped passes that do not come out even", 1.5, 0, 20, true, 50, 4, 80},
		{"wrapped batch above the data", 1, 0, 128, true, 50, 1, 128},
		{"a tiny share of a pass is one step", 0.001, 0, 20, false, 50, 1, 1},
		{"steps override epochs", 1, 7, 20, false, 50, 7, 140},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := ClientParams{Epochs: tt.epochs, Steps: tt.steps, Batch: tt.batch, Wrap: tt.wrap}
			if whole := tt.epochs*float64(tt.n)/float64(tt.batch) == math.Trunc(tt.epochs*float64(tt.n)/float64(tt.batch)); tt.wrap {
				down := p
				down.Floor = true
				if got := down.LocalSteps(tt.n); got != tt.want && whole || got != max(1, tt.want-1) && !whole {
					t.Errorf("rounded down: %d steps, want %d at most", got, tt.want)
				}
			}
			if got := p.LocalSteps(tt.n); got != tt.want {
				t.Errorf("LocalSteps(%d) = %d, want %d", tt.n, got, tt.want)
			}
			if got := p.Examples(tt.n); got != tt.tasks {
				t.Errorf("Examples(%d) = %d, want %d", tt.n, got, tt.tasks)
			}
		})
	}
}

func TestCheckNamesTheKey(t *testing.T) {
	tests := []struct {
		key    string
		change func(*ClientParams, *ServerParams)
	}{
		{"client.lr", func(c *ClientParams, _ *ServerParams) { c.LR = -1 }},
		{"client.lr", func(c *ClientParams, _ *ServerParams) { c.LR = math.NaN() }},
		{"client.momentum", func(c *ClientParams, _ *ServerParams) { c.Momentum = 1.5 }},
		{"client.weight_decay", func(c *ClientParams, _ *ServerParams) { c.WeightDecay = -1 }},
		{"client.mu", func(c *ClientParams, _ *ServerParams) { c.Mu = math.Inf(1) }},
		{"client.epochs", func(c *ClientParams, _ *ServerParams) { c.Epochs = 0 }},
		{"client.floor", func(c *ClientParams, _ *ServerParams) { c.Floor = true }},
		{"client.floor", func(c *ClientParams, _ *ServerParams) { c.Floor, c.Wrap, c.Steps = true, true, 3 }},
		{"client.batch", func(c *ClientParams, _ *ServerParams) { c.Batch = 0 }},
		{"client.dropout", func(c *ClientParams, _ *ServerParams) { c.Dropout = 1 }},
		{"client.steps", func(c *ClientParams, _ *ServerParams) { c.Steps = -1 }},
		{"server.lr", func(_ *ClientParams, s *ServerParams) { s.LR = 0 }},
		{"server.momentum", func(_ *ClientParams, s *ServerParams) { s.Momentum = 1 }},
		{"server.decay", func(_ *ClientParams, s *ServerParams) { s.Decay = 1.01 }},
	}
	for _, tt := range tests {
		c, s := hyper.DefaultClient(), hyper.DefaultServer()
		if err := c.Check(); err != nil {
			t.Fatalf("default client parameters: %v", err)
		}
		if err := s.Check(); err != nil {
			t.Fatalf("default server parameters: %v", err)
		}
		tt.change(&c, &s)
		err := c.Check()
		if err == nil {
			err = s.Check()
		}
		if err == nil || !strings.HasPrefix(err.Error(), tt.key+" = ") {
			t.Errorf("got error %v, want one about %s", err, tt.key)
		}
	}
}
