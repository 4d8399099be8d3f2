package repro

import (
	_ "embed" // the tables
	"fmt"
	"sync"

	"github.com/BurntSushi/toml"
)

//go:embed papers.toml
var papersText string

// papers returns what papers.toml holds, which says what each is.
var papers = sync.OnceValue(func() *tables {
	t := &tables{}
	read, err := toml.Decode(papersText, t)
	if unknown := read.Undecoded(); err != nil || len(unknown) > 0 {
		panic(fmt.Sprintf("repro: papers.toml: %v %v", err, unknown))
	}
	return t
})

type tables struct {
	Data  map[string]dataSet
	FedEx struct {
		Switch                                     string
		Networks                                   map[string]string
		Discounts, Eps, Schedules, Rival, Workshop []string
		RandomAsPaper                              map[string][]string `toml:"random_as_paper"`
		Sets                                       []fedexSet
		Errors                                     map[string][5][2]float64
		Paired                                     []pairedSet
		Ablations                                  []ablation
	}
	Fathom  struct{ FEMNIST, StackOverflow, StackExchange fathomSet }
	FedTune []fedtuneSet
	NAS     struct {
		Deviates []string
		Arms     []nasArm
	}
	Devices struct{ FedBuff, FedScale []deviceArm }
	PFLlib  struct {
		Settings []arm
		Arms     []pfllibArm
	}
	Board struct {
		Methods  []string
		Networks map[string]string
		Sets     []boardSet
	}
	Private struct {
		Sets, Deviates []string
		Runs           []arm
		Tuning         struct {
			Tuners, Budgets    []arm
			Sets, DP, Deviates []string
		}
	}
}

// arm is a setting that is told apart from others, or a tuner with the client tuner under it.
type arm struct {
	Name, Where, Tuner, Client string
	Sets                       []string
}
