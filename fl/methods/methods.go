// Package methods holds the built-in federated methods, one file each. Importing it
// registers them, see fl.MethodByName:
//
//	import _ "github.com/fedfast/fedfast/fl/methods"
//
// A method of one's own is an fl.Method, registered with fl.Register; it can be a copy of
// FedAvg or Reptile in which some fields are changed.
package methods

import (
	"slices"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/fl/hyper"
)

// builtIn are the methods of this package.
var builtIn = []func() fl.Method{
	FedAvg, fedAvgM, fedProx, fedLC, fedNTD, fedRoD, moon, fedNova, scaffold, fedDyn, fedDynChoice, Reptile, maml, mamlAdam, perFedAvg, pFedMe, ditto, fedPer, fedRep, fedBABU, fedBN, fedPA,
	heteroFL, fedRolex, fedTP, supernet, fedNAS, directFedNAS, fedAdagrad, fedAdam, fedYogi, mifa, apfl, lgFedAvg, fedALA, fedAMP, qFedAvg, afl,
	ifca, fedFomo, mimeLite,
}

// init registers the built-in methods. One that cannot be registered is a mistake
// of this package, or of a program whose own method took the name of a built-in one
// at start-up: nothing could tell the two apart, so it panics.
func init() {
	for _, m := range builtIn {
		if err := fl.Register(m()); err != nil {
			panic(err)
		}
	}
}

// localSGD is what local training goes by whose clients may keep what their optimizers
// remember.
var localSGD = slices.Clip(slices.Concat(hyper.UsingSGD(), personalLR, hyper.Using("client.optimizer_state")))

// personalLR is what the personalized models of methods go by whose evaluations train
// them as rounds do.
var personalLR = hyper.Using("client.personal_lr")

// forgets has a method refuse to keep what local optimizers remember.
func forgets(why string) []hyper.Use { return hyper.Needing("client.optimizer_state", "reset", why) }

// serverStep is what the server of Reptile uses.
var serverStep = slices.Concat(serverRate, hyper.Using("server.momentum"))

// serverRate is what the server's learning rate of a round goes by.
var serverRate = slices.Concat(hyper.Using("server.lr"), hyper.UsingSchedule("server"), hyper.Using("server.decay"))
