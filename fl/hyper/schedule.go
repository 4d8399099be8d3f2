package hyper

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
)

// scheduleConstant is the kind of a Schedule that changes nothing.
const scheduleConstant = "constant"

// schedules are the kinds of Schedule. To add one, add a row, and its name to the words of
// Schedule.Kind.
var schedules = []schedule{
	{name: scheduleConstant, rate: func(_ *Schedule, lr, _, _ float64, _ int) float64 { return lr }},
	{
		name: "cosine", uses: []string{"lr_min", "lr_length"}, needs: "lr_length",
		why: "the number of rounds until lr_min is reached",
		rate: func(_ *Schedule, lr, least, share float64, _ int) float64 {
			c := cosine(share)
			return least + float64(float64(lr-least)*float64(c*c)) // (1 + cos(pi t/T)) / 2
		},
	},
	{
		name: "linear", uses: []string{"lr_min", "lr_length"}, needs: "lr_length",
		why: "the number of rounds until lr_min is reached",
		rate: func(_ *Schedule, lr, least, share float64, _ int) float64 {
			return least + float64(float64(lr-least)*(1-share))
		},
	},
	{
		name: "step", uses: []string{"lr_min", "lr_every", "lr_factor"}, needs: "lr_every",
		why: "the interval between decays",
		rate: func(s *Schedule, lr, least, _ float64, t int) float64 {
			return max(least, float64(lr*wholePower(cmp.Or(s.Factor, defaultFactor), t/max(1, s.Every))))
		},
	},
}

// schedule is a kind of Schedule.
type schedule struct {
	name string
	// uses are the fields that it goes by, by their keys; needs is the one of them that must be
	// set, and why says for what. Over local steps a length need not be set.
	uses       []string
	needs, why string
	// rate returns the learning rate at time t, after the warmup, when a share of the length is
	// over, of an initial rate lr that is not to fall below least.
	rate func(s *Schedule, lr, least, share float64, t int) float64
}

// kind returns the row of the schedule; without a Kind it is constant.
func (s *Schedule) kind() *schedule {
	return &schedules[max(0, slices.IndexFunc(schedules, func(k schedule) bool { return k.name == s.Kind }))]
}

// Schedule defines how a learning rate changes over rounds or local steps, counted from 0.
type Schedule struct {
	Kind   string  `toml:"lr_schedule" of:"constant cosine linear step" off:"constant" doc:"schedule of the learning rate: cosine or linear decay to lr_min, or step decay by lr_factor every lr_every rounds or steps" also:"schedule scheduler lr_scheduler"`
	Min    float64 `toml:"lr_min" in:"[0, inf)" off:"0" doc:"final value of the schedules cosine and linear, and lower bound of step; capped at the learning rate" also:"min_lr eta_min"`
	Length int     `toml:"lr_length" in:"[0, inf)" off:"0" doc:"rounds after which the schedules cosine and linear reach lr_min; over local steps 0 means the whole local training" also:"t_max total_rounds"`
	Every  int     `toml:"lr_every" in:"[0, inf)" off:"0" doc:"rounds or local steps between decays of the schedule step" also:"step_size lr_step"`
	Factor float64 `toml:"lr_factor" in:"[0, 1]" off:"0" doc:"factor of the schedule step; 0: 0.1" also:"lr_gamma"`
	Warmup int     `toml:"lr_warmup" in:"[0, inf)" off:"0" doc:"warmup rounds or local steps W: the learning rate of number t = 0, 1, ... is multiplied by (t+1)/(W+1); a schedule starts after them" also:"warmup warmup_rounds warmup_steps"`
}

// constant reports whether the rate is always the same.
func (s *Schedule) constant() bool {
	return (s.Kind == scheduleConstant || s.Kind == "") && s.Warmup == 0
}

// rate returns the learning rate at time t for the initial rate lr; the schedule ends at
// time length.
func (s *Schedule) rate(lr float64, t, length int) float64 {
	if t < s.Warmup {
		return lr * (float64(t+1) / float64(s.Warmup+1))
	}
	t, length = t-s.Warmup, max(1, length-s.Warmup)
	least := min(s.Min, lr)
	share := min(1, float64(t)/float64(length))
	return s.kind().rate(s, lr, least, share, t)
}

// cosine returns cos(pi/2 x) for x in [0, 1] by its series, the same bits on every
// machine.
func cosine(x float64) float64 {
	if x == 1 {
		return 0
	}
	y := float64(math.Pi / 2 * x)
	square, term, sum := float64(y*y), 1.0, 1.0
	for k := 2.0; k <= 24; k += 2 {
		term = -float64(term*square) / float64(k*(k-1))
		sum += term
	}
	return sum
}

// UsingSchedule lists what the schedule of a table, "client" or "server", goes by.
func UsingSchedule(table string) []Use {
	var uses []Use
	for f := range reflect.TypeFor[Schedule]().Fields() {
		uses = append(uses, Use{Key: table + "." + f.Tag.Get("toml")})
	}
	return uses
}

// checkWhole returns an error for a field that the schedule does not use, or that is
// missing; table is client or server.
func (s *Schedule) checkWhole(table string, needsLength bool) error {
	kind, v := s.kind(), reflect.ValueOf(*s)
	for f, x := range v.Fields() {
		name := f.Tag.Get("toml")
		problem := ""
		switch {
		case name == "lr_schedule" || name == "lr_warmup":
		case name == kind.needs && x.IsZero() && (needsLength || name != "lr_length"):
			problem = fmt.Sprintf(" is not set: required by %s.lr_schedule = %q, %s", table, s.Kind, kind.why)
		case !x.IsZero() && !slices.Contains(kind.uses, name):
			var use []string
			for _, k := range schedules {
				if slices.Contains(k.uses, name) {
					use = append(use, k.name)
				}
			}
			problem = fmt.Sprintf(" = %v: only allowed with %s.lr_schedule = %s", x, table, strings.Join(use, " or "))
		}
		if problem != "" {
			return &key.Error{Key: table + "." + name, Problem: problem}
		}
	}
	if s.Length > 0 && s.Warmup >= s.Length {
		problem := fmt.Sprintf(" = %d: must be below %s.lr_length = %d", s.Warmup, table, s.Length)
		return &key.Error{Key: table + ".lr_warmup", Problem: problem}
	}
	return nil
}

// defaultFactor is Schedule.Factor where it is 0.
const defaultFactor = 0.1

// InRound returns the hyperparameters of round t = 0, 1, ...: with the learning rate
// that a schedule over rounds has then. Those of a schedule over local steps stay.
func (c Client) InRound(t int) Client {
	if c.LROver == overRounds && !c.constant() {
		c.LR = c.rate(c.LR, t, c.Length)
		c.Schedule = Schedule{Kind: scheduleConstant}
	}
	return c
}

// Personal returns the hyperparameters with which an evaluation trains a personalized
// model: at the learning rate PersonalLR, or LR where that is 0, and without a schedule
// over rounds, which may have fallen to 0 by then.
func (c Client) Personal() Client {
	if c.PersonalLR > 0 {
		c.LR = c.PersonalLR
	}
	if c.LROver == overRounds {
		c.Schedule = Schedule{Kind: scheduleConstant}
	}
	return c
}

// RateAt returns the learning rate of local step t out of steps. Unless the schedule is
// over local steps it is the value of InRound.
func (c *Client) RateAt(t, steps int) float64 {
	if c.LROver == overRounds || c.constant() {
		return c.LR
	}
	length := cmp.Or(c.Length, steps)
	return c.rate(c.LR, t, length)
}

// The words of Client.LROver.
const (
	overRounds = "rounds"
	overSteps  = "steps"
)

// checkSchedule returns an error for a schedule that is not whole.
func (c *Client) checkSchedule() error {
	if c.LROver == overSteps && c.constant() {
		return &key.Error{Key: "client.lr_over", Problem: " = \"steps\": requires client.lr_schedule or client.lr_warmup"}
	}
	return c.checkWhole("client", c.LROver == overRounds)
}

// Use is a hyperparameter that a method uses.
type Use struct {
	// Key names it, such as client.lr; see All.
	Key string
	// In is the range that the method needs, within the hyperparameter's own; the
	// zero Range is that.
	In key.Range
	// Words are those that the method needs of a text; nil are all.
	Words []string
	// Why says in an error why the method needs it, empty when that is plain.
	Why string
}

// Using lists hyperparameters that a method uses in their whole ranges.
func Using(keys ...string) []Use {
	return list.Of(keys, func(k string) Use { return Use{Key: k} })
}

// Needing lists a hyperparameter that a method uses in a range of its own, written
// as in the table of hyperparameters: "(0, inf)", "[1, inf)", "0 or 1", or the
// words of a text: "sgd adam". A range that cannot be read is a programmer's
// mistake, and panics.
func Needing(name, in, why string) []Use {
	if p, ok := Find(name); ok && p.Text() {
		return []Use{{Key: name, Words: strings.Fields(in), Why: why}}
	}
	return []Use{{Key: name, In: key.In(in), Why: why}}
}

// Fixed says whether the method needs one value alone.
func (u Use) Fixed() bool { return u.In.Single() || len(u.Words) == 1 }

// UsingSteps lists what fl.Batches goes by: the learning rate, which the engine changes
// from round to round as its schedule says, the number of steps and
// the batches of local training, and dropout.
func UsingSteps() []Use {
	return slices.Concat(Using("client.lr"), UsingSchedule("client"),
		Using("client.epochs", "client.steps", "client.batch", "client.dropout"),
		Using("client.wrap", "client.floor", "client.drop_last"))
}

// UsingSGD lists what fl.Local.SGD goes by: UsingSteps, the optimizer, clipping
// and weight decay.
func UsingSGD() []Use {
	return slices.Concat(UsingSteps(), Using("client.optimizer", "client.momentum", "client.nesterov", "client.clip_norm",
		"client.beta1", "client.beta2", "client.eps", "client.weight_decay", "client.bias_decay", "client.lr_over"))
}

// Check returns an error unless the hyperparameter is in the range that the named method needs.
func (u Use) Check(method string, v *Values) error {
	p, ok := Find(u.Key)
	if !ok {
		return fmt.Errorf("method %q uses %s, which is no hyperparameter; package fl/hyper lists them", method, u.Key)
	}
	if p.Text() {
		if text, _ := p.Value(v).(string); u.Words == nil || slices.Contains(u.Words, text) {
			return nil
		}
		p.Words = u.Words
	} else {
		if u.In.String() == "" || u.In.Holds(p.Get(v)) {
			return nil
		}
		p.In = u.In
	}
	problem := fmt.Sprintf(" = %s: method %q needs %s", p.Literal(v), method, p.Want())
	if u.Why != "" {
		problem += "; " + u.Why
	}
	return &key.Error{Key: u.Key, Problem: problem}
}
