package fleet

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
	Kind             string  `toml:"-"`
	Candidates       int     `toml:"candidates" tune:"yes" in:"[0, inf)" with:"power" doc:"number of clients, drawn by their numbers of training samples, of which those with the highest losses train; 0: twice as many as train" also:"d"`
	Exploration      float64 `toml:"exploration" tune:"yes" in:"[0, 1]" with:"oort" doc:"share of clients that have not trained before, in the first round" also:"exploration_factor"`
	ExplorationDecay float64 `toml:"exploration_decay" tune:"yes" in:"(0, 1]" with:"oort" doc:"factor of sampler.exploration from round to round"`
	ExplorationMin   float64 `toml:"exploration_min" tune:"yes" in:"[0, 1]" with:"oort" doc:"smallest share of clients that have not trained before"`
	Clip             float64 `toml:"clip" tune:"yes" in:"(0, 1]" with:"oort" doc:"quantile of the utilities at which higher ones are clipped" also:"clip_bound"`
	Cutoff           float64 `toml:"cutoff" tune:"yes" in:"[0, 1]" with:"oort" doc:"clients are drawn among those with at least this share of the utility that just suffices" also:"cut_off_util"`
	Penalty          float64 `toml:"penalty" tune:"yes" in:"[0, 100]" with:"oort" doc:"exponent of T/t, by which the utility of a client that takes t > T seconds is multiplied" also:"round_penalty alpha"`
	Pace             float64 `toml:"pace" tune:"yes" in:"(0, 1]" with:"oort" doc:"quantile of the clients' seconds that is T at first" also:"round_threshold"`
	PaceStep         float64 `toml:"pace_step" tune:"yes" in:"[0, 1]" with:"oort" doc:"what is added to the quantile T when the clients' utilities fall" also:"pacer_delta"`
	PaceRounds       int     `toml:"pace_rounds" tune:"yes" in:"[1, inf)" with:"oort" doc:"number of rounds whose utilities are compared with as many rounds before" also:"pacer_step"`
	Tiers            int     `toml:"tiers" tune:"yes" in:"[2, 1000]" with:"tiers" doc:"number of tiers of equally many clients, by the time that they are expected to take"`
}

// DefaultSampler returns the defaults of the keys sampler.*.
func DefaultSampler() Sampler {
	return Sampler{
		Exploration: 0.9, ExplorationDecay: 0.98, ExplorationMin: 0.2, Clip: 0.95, Cutoff: 0.95, Penalty: 2,
		Pace: 0.3, PaceStep: 0.05, PaceRounds: 20, Tiers: 5,
	}
}
