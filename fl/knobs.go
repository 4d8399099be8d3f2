package fl

import (
	"fmt"
	"slices"
)

// knob is a hyperparameter that only some methods use.
type knob struct {
	key   string
	moved func(c *ClientParams, s *ServerParams) bool // away from the value that does nothing
	why   string                                      // for the error; empty is "does not use it"
}

const plainAveraging = `averages plainly (lr 1, momentum 0, decay 1); use method "reptile" for a server step`

var knobs = []knob{
	{"client.mu", func(c *ClientParams, _ *ServerParams) bool { return c.Mu != 0 }, `has no proximal term; use method "fedprox" or "reptile"`},
	{"client.momentum", func(c *ClientParams, _ *ServerParams) bool { return c.Momentum != 0 }, "needs local SGD without momentum; set it to 0"},
	{"client.weight_decay", func(c *ClientParams, _ *ServerParams) bool { return c.WeightDecay != 0 }, "has no weight decay; set it to 0"},
	{"client.lambda", func(c *ClientParams, _ *ServerParams) bool { return c.Lambda != 0 }, ""},
	{"client.personal_lr", func(c *ClientParams, _ *ServerParams) bool { return c.PersonalLR != 0 }, ""},
	{"client.personal_epochs", func(c *ClientParams, _ *ServerParams) bool { return c.PersonalEpochs != 0 }, ""},
	{"client.head_epochs", func(c *ClientParams, _ *ServerParams) bool { return c.HeadEpochs != 0 }, ""},
	{"client.inner_lr", func(c *ClientParams, _ *ServerParams) bool { return c.InnerLR != 0 }, ""},
	{"client.inner_steps", func(c *ClientParams, _ *ServerParams) bool { return c.InnerSteps != 0 }, ""},
	{"client.first_order", func(c *ClientParams, _ *ServerParams) bool { return c.FirstOrder }, ""},
	{"client.burn_in", func(c *ClientParams, _ *ServerParams) bool { return c.BurnIn != 0 }, ""},
	{"client.window", func(c *ClientParams, _ *ServerParams) bool { return c.Window != 0 }, ""},
	{"client.rho", func(c *ClientParams, _ *ServerParams) bool { return c.Rho != 0 }, ""},
	{"client.width", func(c *ClientParams, _ *ServerParams) bool { return c.Width != 0 }, ""},
	{"server.lr", func(_ *ClientParams, s *ServerParams) bool { return s.LR != 1 }, plainAveraging},
	{"server.momentum", func(_ *ClientParams, s *ServerParams) bool { return s.Momentum != 0 }, plainAveraging},
	{"server.decay", func(_ *ClientParams, s *ServerParams) bool { return s.Decay != 1 }, plainAveraging},
	{"server.beta1", func(_ *ClientParams, s *ServerParams) bool { return s.Beta1 != 0 }, ""},
	{"server.beta2", func(_ *ClientParams, s *ServerParams) bool { return s.Beta2 != 0 }, ""},
	{"server.tau", func(_ *ClientParams, s *ServerParams) bool { return s.Tau != 0 }, ""},
	{"server.alpha", func(_ *ClientParams, s *ServerParams) bool { return s.Alpha != 0 }, ""},
	{"server.weighted", func(_ *ClientParams, s *ServerParams) bool { return s.Weighted }, ""},
	{"server.burn_in", func(_ *ClientParams, s *ServerParams) bool { return s.BurnIn != 0 }, ""},
}

// Common keys of several methods.
var (
	localSGD   = []string{"client.momentum", "client.weight_decay"}
	serverStep = []string{"server.lr", "server.momentum", "server.decay"}
)

// uses returns an error for the first hyperparameter that a method does not use
// and that is not at the value that does nothing: it would be ignored silently.
func uses(method string, c ClientParams, s ServerParams, keys ...[]string) error {
	known := slices.Concat(keys...)
	for _, k := range knobs {
		if slices.Contains(known, k.key) || !k.moved(&c, &s) {
			continue
		}
		why := k.why
		switch {
		case why == "":
			why = "does not use it; leave it out"
		case why == plainAveraging && slices.Contains(known, "server.lr"):
			why = "has no such server step; leave it out"
		}
		return fmt.Errorf("%s: method %q %s", k.key, method, why)
	}
	return nil
}

// within returns an error unless a hyperparameter of a method is in its range.
func within(method, key string, value float64, ok bool, want string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s = %v: method %q needs %s", key, value, method, want)
}
