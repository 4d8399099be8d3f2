package config

import (
	"cmp"
	_ "embed" // of the tuned values
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/tuners"
)

// TunedValue is the value of a hyperparameter that a study of the tuned board returned, see
// bench/results/board.md. Low and High are the range of it and of the best tenth of the trials.
type TunedValue struct {
	Set    string  `json:"federation"`
	Method string  `json:"-"`
	Key    string  `json:"key"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// String writes the value, and its range where there is one.
func (v TunedValue) String() string {
	if v.Low < v.High {
		return fmt.Sprintf("%.3g (%.3g to %.3g)", v.Value, v.Low, v.High)
	}
	return fmt.Sprintf("%.3g", v.Value)
}

// tunedText is what `fedfast repro merge --board --values` writes.
//
//go:embed tuned.csv
var tunedText string

// allTuned reads the tuned values of all methods, federation by federation.
func allTuned() (all []TunedValue) {
	_, rows, _ := strings.Cut(tunedText, "\n") // without the head
	for line := range strings.Lines(rows) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) != 6 {
			continue
		}
		v := TunedValue{Set: f[0], Method: f[1], Key: f[2]}
		for i, x := range []*float64{&v.Value, &v.Low, &v.High} {
			*x, _ = strconv.ParseFloat(f[3+i], 64) // a test reads all
		}
		all = append(all, v)
	}
	return all
}

// TunedValues returns the tuned values of a method, federation by federation; none of a method
// that is not on the board.
func TunedValues(method string) []TunedValue {
	return list.Where(allTuned(), func(v TunedValue) bool { return v.Method == method })
}

// tunedMethods are the methods that have tuned values.
func tunedMethods() (all []string) {
	for _, v := range allTuned() {
		if !slices.Contains(all, v.Method) {
			all = append(all, v.Method)
		}
	}
	return all
}

// sharedSpace is what the tuned board searches of every method that has the key, ownSpace what it
// searches of a method besides.
var sharedSpace = [][2]string{
	{"client.lr", "{log10=[-3,0]}"},
	{"client.momentum", "{uniform=[0,0.9]}"},
	{"client.weight_decay", "{log10=[-5,-2]}"},
	{"client.epochs", "{int=[1,3]}"},
	{"client.batch", "{log2=[3,6]}"},
}

var ownSpace = map[string][][2]string{
	"fedprox":   {{"client.mu", "{log10=[-4,0]}"}},
	"scaffold":  {{"server.lr", "{uniform=[0.3,1.5]}"}},
	"feddyn":    {{"server.alpha", "{log10=[-3,0]}"}},
	"fedadam":   {{"server.lr", "{log10=[-3,0]}"}},
	"fedyogi":   {{"server.lr", "{log10=[-3,0]}"}},
	"fedavgm":   {{"server.lr", "{log10=[-1,0.5]}"}, {"server.momentum", "{uniform=[0,0.95]}"}},
	"mimelite":  {{"server.beta1", "{uniform=[0,0.99]}"}},
	"moon":      {{"client.mu", "{log10=[-1,1]}"}},
	"fedlc":     {{"client.temperature", "{log10=[-1,0.5]}"}},
	"qfedavg":   {{"server.q", "{log10=[-2,0.7]}"}},
	"ditto":     {{"client.lambda", "{log10=[-2,0.5]}"}},
	"apfl":      {{"client.alpha", "{uniform=[0.1,1]}"}},
	"fedrep":    {{"client.head_epochs", "{choice=[0.5,1,2]}"}},
	"fedbabu":   {{"client.head_epochs", "{choice=[0.5,1,2]}"}},
	"fedala":    {{"client.ala_rate", "{log10=[-1,1]}"}},
	"perfedavg": {{"client.inner_lr", "{log10=[-2.5,-0.3]}"}},
	"pfedme":    {{"client.lambda", "{log10=[0,1.3]}"}, {"client.inner_lr", "{log10=[-2.5,-1]}"}},
}

// BoardSpace returns what the tuned board searches of a method: keys, each with its dimension in
// TOML.
func BoardSpace(m fl.Method) [][2]string {
	return slices.DeleteFunc(slices.Concat(sharedSpace, ownSpace[m.Name]), func(d [2]string) bool {
		return !slices.ContainsFunc(m.Uses, func(u hyper.Use) bool { return u.Key == d[0] && !u.Fixed() })
	})
}

// SpaceSet writes a dimension of BoardSpace as an assignment.
func SpaceSet(dim [2]string) string { return fmt.Sprintf("space.%q=%s", dim[0], dim[1]) }

// auto is the value of space that stands for a space made of the method's keys.
const auto = "auto"

// AutoSpace says, at the end of an error, which dimensions space = "auto" has.
func (c *Config) AutoSpace() string {
	m, err := fl.MethodByName(c.Method)
	dims := list.Of(BoardSpace(m), func(d [2]string) string { return d[0] })
	if err != nil || len(dims) == 0 {
		return ""
	}
	return fmt.Sprintf("; method %s has %s: space = %q searches them", c.Method, strings.Join(dims, ", "), auto)
}

// widened is the share of a searched range by which the recorded one is widened on both sides.
const widened = 0.25

// addAuto adds to the space those dimensions of BoardSpace that it lacks. Continuous ones are the
// recorded ranges of all federations, widened.
func (c *Config) addAuto() error {
	method, err := fl.MethodByName(c.Method)
	if err != nil {
		return err
	}
	values := TunedValues(method.Name)
	for _, dim := range BoardSpace(method) {
		settings, err := parseAssignment(SpaceSet(dim))
		if err != nil {
			return err
		}
		s := settings[0]
		if _, given := c.Space[s.name]; given {
			continue
		}
		d, err := tuners.ParseDim(s.name, s.value)
		if err != nil {
			return err
		}
		own := slices.DeleteFunc(slices.Clone(values), func(v TunedValue) bool { return v.Key != s.name })
		if len(own) > 0 && (d.Kind == tuners.Uniform || d.Kind == tuners.Log10) {
			at := func(x float64) float64 { return d.Scale(tuners.Num(x)) }
			low := slices.Min(list.Of(own, func(v TunedValue) float64 { return at(v.Low) }))
			high := slices.Max(list.Of(own, func(v TunedValue) float64 { return at(v.High) }))
			more := widened * (d.Hi - d.Lo)
			s.value = map[string]any{string(d.Kind): []any{max(d.Lo, tenths(low-more)), min(d.Hi, tenths(high+more))}}
		}
		if err := c.setDim(s); err != nil {
			return err
		}
	}
	return nil
}

// tenths rounds to one decimal.
func tenths(x float64) float64 { return math.Round(10*x) / 10 }

// tunedPresets begins the names of presets of tuned values.
const tunedPresets = "tuned/"

// tunedPreset is the preset tuned/METHOD: the quickstart's federation with a method and its tuned
// values, the medians over federations; empty for a method that is not on the board.
func tunedPreset(method string) (string, error) {
	values := TunedValues(method)
	if len(values) == 0 {
		return "", nil
	}
	text, err := presetFiles.ReadFile("presets/quickstart.toml")
	if err != nil {
		return "", err
	}
	_, network, _ := strings.Cut(string(text), "\n[data]\n")
	network, _, _ = strings.Cut(network, "\n[client]\n")
	out := fmt.Sprintf("# %s with the values that the tuned board found, on the quickstart's pictures.\n#\n"+
		"# Medians over the federations of `fedfast list methods %s`; the space is made of their ranges.\n"+
		"method = %q\nrounds = 100\ncohort = 10\nspace = %q\n", method, method, method, auto)
	done, lines := []string{}, []string{out}
	for _, v := range values {
		if slices.Contains(done, v.Key) {
			continue
		}
		done = append(done, v.Key)
		all := slices.DeleteFunc(slices.Clone(values), func(o TunedValue) bool { return o.Key != v.Key })
		slices.SortFunc(all, func(a, b TunedValue) int { return cmp.Compare(a.Value, b.Value) })
		lines = append(lines, fmt.Sprintf("%s = %v\n", v.Key, all[(len(all)-1)/2].Value))
	}
	return strings.Join(lines, "") + "\n[data]\n" + network +
		"\n[budget]\nrounds = 350\ntrial_rounds = 50\n\n[tuner]\nname = \"halving\"\nstart = \"file\"\n", nil
}
