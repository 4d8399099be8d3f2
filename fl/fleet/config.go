package fleet

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
)

// Config describes a fleet. The zero Config is a fleet of equal phones, always available,
// whose jobs never fail. Its tags are explained in package internal/key; with lists the values
// of Devices and Availability that use a key (file and intervals belong to files).
type Config struct {
	// Devices is one of Kinds, or the path of a CSV file.
	//
	// the clients' devices: equal; lognormal, exponential, pareto or zipf speeds; classes with
	// fleet.shares; phones, as measured; or a .csv file with the columns client, flops or
	// seconds_per_sample, down, up and, optionally, memory; default: equal
	Devices string `toml:"devices" also:"heterogeneity clients"`
	// FLOPS, Down, Up and Memory have one value, or one for each class. nil stands for
	// DefaultDevice.
	//
	// operations per second of a device: with lognormal the median, with exponential 1 / the mean time of
	// an operation, with pareto and zipf the fastest device's; with classes one for each class, or one for
	// all; default: 1e10
	FLOPS []float64 `toml:"flops" in:"(0, inf)" with:"equal lognormal exponential pareto zipf classes" also:"speed compute"`
	// seconds that a device trains on a sample with the study's whole model, instead of fleet.flops,
	// likewise; with exponential the mean
	SecondsPerSample []float64 `toml:"seconds_per_sample" in:"(0, inf)" with:"equal lognormal exponential pareto zipf classes" also:"sample_seconds time_per_sample"`
	// bytes per second that a device receives; with classes one for each class, or one for all; default:
	// 1.25e6
	Down []float64 `toml:"down" in:"(0, inf)" with:"equal lognormal exponential pareto zipf classes" also:"download bandwidth downlink"`
	// bytes per second that a device sends; with classes one for each class, or one for all; default:
	// 1.25e6
	Up []float64 `toml:"up" in:"(0, inf)" with:"equal lognormal exponential pareto zipf classes" also:"upload uplink"`
	// bytes of memory of a device; a client whose local training takes more never takes part; with classes
	// one for each class, or one for all; default: no limit
	Memory []float64 `toml:"memory" in:"(0, inf)" with:"equal lognormal exponential pareto zipf classes phones" also:"ram"`
	// share of the clients in each class, in any unit, such as [0.5, 0.3, 0.2]
	Shares []float64 `toml:"shares" in:"(0, inf)" with:"classes" also:"proportions"`
	// standard deviation of the logarithm of the speed; default: 1
	Sigma float64 `toml:"sigma" in:"(0, inf)" with:"lognormal" also:"spread"`
	// Exponent is the exponent of the slowdown K >= 1 of a device: with pareto P(K > k) =
	// k^-Exponent, with zipf P(K = k) is proportional to k^-Exponent for k = 1, ..., 1000.
	//
	// exponent of the power law of slowdowns against the fastest device; smaller is more unequal; default:
	// 2
	Exponent float64 `toml:"exponent" in:"(0, inf)" with:"pareto zipf" also:"alpha shape"`
	// Correlation is the correlation of a Gaussian copula of the clients' numbers of training
	// samples and speeds, by their ranks.
	//
	// rank correlation of a client's number of training samples and its speed (a Gaussian copula); 1: the
	// client with the most samples is the fastest; 0: none
	Correlation float64 `toml:"correlation" in:"[-1, 1]" with:"lognormal exponential pareto zipf classes phones file"`
	// Jitter is the standard deviation of a transfer's speed as a share of its mean.
	//
	// standard deviation of the log-normal speed of a transfer, as a share of the link's mean; 0: none
	Jitter float64 `toml:"jitter" in:"[0, inf)" with:"equal lognormal exponential pareto zipf classes file"`
	// seconds from the request of a job to the start of its download
	Latency float64 `toml:"latency" in:"[0, 1e9]" also:"delay"`
	// how many times faster devices compute with precision = "bf16"; default: 1
	BF16Speedup float64 `toml:"bf16_speedup" in:"(0, inf)"`

	// Availability is one of Patterns, or the path of a CSV file.
	//
	// when clients are available: always; daily, most of them at night; markov, on and off at random
	// times; or a .csv file with the columns client, start and end in seconds; default: always
	Availability string `toml:"availability"`
	// mean share of clients that are available; default: 0.16, the share of time for which phones were
	// charging
	Mean float64 `toml:"mean" in:"(0, 1]" with:"daily"`
	// how much the share of available clients is above the mean at 2 a.m., and below at 2 p.m.; default:
	// fleet.mean
	Swing float64 `toml:"swing" in:"(0, 1]" with:"daily"`
	// hours over which the clients' time zones are spread; 0: all are in one zone, where the training
	// starts at midnight
	Zones float64 `toml:"zones" in:"[0, 24]" with:"daily" also:"phases timezones"`
	// mean seconds for which a client stays available; default: 3600
	On float64 `toml:"on" in:"[1, 1e8]" with:"markov"`
	// mean seconds for which a client stays away; default: 7200
	Off float64 `toml:"off" in:"[1, 1e8]" with:"markov"`
	// seconds after which the intervals of the file repeat; 0: never, clients are away after their last
	// interval
	Period float64 `toml:"period" in:"[0, 1e9]" with:"intervals"`
	// how clients get the rows of a .csv file: by their ID in the dataset, or drawn by the seed from all
	// names in the file; default: id
	Assign string `toml:"assign" of:"id draw" with:"file intervals"`
	// probability that a job fails, at a uniform share of its time
	Dropout float64 `toml:"dropout" in:"[0, 1]" also:"dropout_rate failure drop_prob"`
	// failures per second of a job: with 0.001, half of those that last 693 seconds fail
	Hazard float64 `toml:"hazard" in:"[0, inf)" also:"failure_rate"`
	// whether a job whose client goes away fails, or pauses until it is back; default: fail
	Offline string `toml:"offline" of:"fail pause" with:"daily markov intervals"`

	// SampleFLOPs are the operations of a training step for a sample of the whole model, for
	// SecondsPerSample.
	SampleFLOPs float64 `toml:"-"`
	// BF16 says that the clients' models compute in bf16.
	BF16 bool `toml:"-"`
}

// Kinds are the values of Config.Devices that are no file.
var Kinds = []string{"equal", "lognormal", "exponential", "pareto", "zipf", "classes", "phones"}

// Patterns are the values of Config.Availability that are no file.
var Patterns = []string{"always", "daily", "markov"}

// The values of Config.Assign and Config.Offline; the first of each is the default.
const (
	assignID     = "id"
	assignDraw   = "draw"
	offlineFail  = "fail"
	offlinePause = "pause"
)

// What uses a key beside Kinds and Patterns.
const (
	file      = "file"
	intervals = "intervals"
)

var keys = key.Of(reflect.TypeFor[Config](), "fleet.")

// IsFile reports whether a value of Devices or Availability is the path of a file.
func IsFile(value string) bool { return strings.HasSuffix(strings.ToLower(value), ".csv") }

// kind returns what Devices, or Availability, is: one of known, the first for "", or what
// a file is called.
func kind(name, value string, known []string, asFile string) (string, error) {
	switch {
	case value == "":
		return known[0], nil
	case slices.Contains(known, value):
		return value, nil
	case IsFile(value):
		return asFile, nil
	}
	return "", &key.Error{Key: name, Problem: fmt.Sprintf(" = %.200q: must be one of %s, or the path of a .csv file%s", value, strings.Join(known, ", "), key.DidYouMean(value, key.Names(known...)))}
}

// Ignores returns what to say of a key of fleet.* that a fleet of these kinds does not use; "" for
// one that it uses.
func (c Config) Ignores(k key.Key) string {
	devices, bad := kind("", c.Devices, Kinds, file)
	times, wrong := kind("", c.Availability, Patterns, intervals)
	if bad != nil || wrong != nil || k.UsedWith(devices, times) {
		return ""
	}
	return fmt.Sprintf("not used by a fleet with devices = %q and availability = %q; leave it out", devices, times)
}

// Check returns an error for the first key that is wrong, as far as that can be seen
// without the files and the clients.
func (c Config) Check() error {
	devices, err := kind("fleet.devices", c.Devices, Kinds, file)
	if err != nil {
		return err
	}
	if _, err := kind("fleet.availability", c.Availability, Patterns, intervals); err != nil {
		return err
	}
	v := reflect.ValueOf(c)
	for _, k := range keys {
		if v.FieldByIndex(k.Index).IsZero() {
			continue
		}
		if err := k.Check(v); err != nil {
			return err
		}
		if problem := c.Ignores(k); problem != "" {
			return &key.Error{Key: k.Name, Problem: ": " + problem}
		}
	}
	if c.Correlation != 0 && devices == file && c.Assign != assignDraw {
		return &key.Error{Key: "fleet.correlation", Problem: ": the file says which client has which device; leave it out, or set fleet.assign = \"draw\""}
	}
	if len(c.FLOPS) > 0 && len(c.SecondsPerSample) > 0 {
		return &key.Error{Key: "fleet.seconds_per_sample", Problem: ": cannot be used with fleet.flops; leave one of them out"}
	}
	return c.checkClasses(devices)
}

// checkClasses returns an error unless the lists are as long as there are classes.
func (c Config) checkClasses(devices string) error {
	if devices == "classes" && len(c.Shares) == 0 {
		return errors.New("fleet.shares: required by fleet.devices = \"classes\", such as [0.5, 0.3, 0.2]")
	}
	classes := max(1, len(c.Shares))
	for _, list := range []struct {
		name string
		n    int
	}{{"flops", len(c.FLOPS)}, {"seconds_per_sample", len(c.SecondsPerSample)}, {"down", len(c.Down)}, {"up", len(c.Up)}, {"memory", len(c.Memory)}} {
		if list.n <= 1 || list.n == classes {
			continue
		}
		want := "must be a single number"
		if classes > 1 {
			want = fmt.Sprintf("must be a single number, or have one for each of the %d fleet.shares", classes)
		}
		return &key.Error{Key: "fleet." + list.name, Problem: fmt.Sprintf(": %d numbers; %s", list.n, want)}
	}
	return nil
}

// The values of Sampler.Kind besides "", which draws clients at random.
const (
	Power          = "power"
	Oort           = "oort"
	LongestWaiting = "longest_waiting"
	Tiers          = "tiers"
)

// Samplers are the values of Sampler.Kind besides "".
var Samplers = []string{Power, Oort, LongestWaiting, Tiers}

// Sampler says how clients are chosen by what they have done, on a fleet or without: the
// keys sampler.*.
type Sampler struct {
	// Kind is one of Samplers, or "" for clients that are drawn at random.
	Kind string `toml:"-"`
	// number of clients, drawn by their numbers of training samples, of which those with the highest
	// losses train; 0: twice as many as train
	Candidates int `toml:"candidates" tune:"yes" in:"[0, inf)" with:"power" also:"d"`
	// share of clients that have not trained before, in the first round
	Exploration float64 `toml:"exploration" tune:"yes" in:"[0, 1]" with:"oort" also:"exploration_factor"`
	// factor of sampler.exploration from round to round
	ExplorationDecay float64 `toml:"exploration_decay" tune:"yes" in:"(0, 1]" with:"oort"`
	// smallest share of clients that have not trained before
	ExplorationMin float64 `toml:"exploration_min" tune:"yes" in:"[0, 1]" with:"oort"`
	// quantile of the utilities at which higher ones are clipped
	Clip float64 `toml:"clip" tune:"yes" in:"(0, 1]" with:"oort" also:"clip_bound"`
	// clients are drawn among those with at least this share of the utility that just suffices
	Cutoff float64 `toml:"cutoff" tune:"yes" in:"[0, 1]" with:"oort" also:"cut_off_util"`
	// exponent of T/t, by which the utility of a client that takes t > T seconds is multiplied
	Penalty float64 `toml:"penalty" tune:"yes" in:"[0, 100]" with:"oort" also:"round_penalty alpha"`
	// quantile of the clients' seconds that is T at first
	Pace float64 `toml:"pace" tune:"yes" in:"(0, 1]" with:"oort" also:"round_threshold"`
	// what is added to the quantile T when the clients' utilities fall
	PaceStep float64 `toml:"pace_step" tune:"yes" in:"[0, 1]" with:"oort" also:"pacer_delta"`
	// number of rounds whose utilities are compared with as many rounds before
	PaceRounds int `toml:"pace_rounds" tune:"yes" in:"[1, inf)" with:"oort" also:"pacer_step"`
	// number of tiers of equally many clients, by the time that they are expected to take
	Tiers int `toml:"tiers" tune:"yes" in:"[2, 1000]" with:"tiers"`
}

// DefaultSampler returns the defaults of the keys sampler.*.
func DefaultSampler() Sampler {
	return Sampler{
		Exploration: 0.9, ExplorationDecay: 0.98, ExplorationMin: 0.2, Clip: 0.95, Cutoff: 0.95, Penalty: 2,
		Pace: 0.3, PaceStep: 0.05, PaceRounds: 20, Tiers: 5,
	}
}
