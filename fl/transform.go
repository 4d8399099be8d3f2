package fl

import (
	"fmt"
	"slices"
	"sync"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
	"github.com/fedfast/fedfast/internal/naming"
	"github.com/fedfast/fedfast/kernels"
)

// Stage is when a Transform works on a client's update. Each has a key, update.attack and
// so on, that names its transform; the stages follow one another in their order.
type Stage int

// The stages of an update on its way to the server. Clipping, where Config.Privacy has it,
// comes after them, so that nothing changes the norm that it leaves.
const (
	StageAttack   Stage = iota // some clients send something else
	StageSparsify              // a client sends some of its values
	StageQuantize              // a client sends its values in few bits
	stages
)

// stageKeys are the keys of the stages.
var stageKeys = [stages]string{"update.attack", "update.sparsify", "update.quantize"}

// String returns the stage's key.
func (s Stage) String() string { return stageKeys[s] }

// Transform is something that happens to what a client sends, as data and functions: what is
// nil or empty is not there. It holds no state of its own, and its functions are called from
// several goroutines. RegisterTransform makes it known by its name.
type Transform struct {
	// Name is the value of the stage's key. Required.
	Name string
	// Stage is when it works.
	Stage Stage
	// Doc says in a line what it does, Paper where it comes from.
	Doc, Paper string
	// Uses lists other keys of update.* that it reads, such as "update.bits".
	Uses []string
	// Strength is what update.strength is where it is not set.
	Strength float64

	// Apply changes what a client sends: u.Values in place, or u.Values and u.Index together
	// to those that are left, see Upload.Keep. Attacks are applied to the attackers' updates
	// alone, which send 0 for what an attack leaves out.
	Apply func(u *Upload)
	// Biased says that the mean over Apply's draws is not what it was given. With
	// update.feedback each client then keeps what Apply left out, and adds it to its next
	// update, instead.
	Biased bool
	// Shrink changes how many bits a client sends; Stage is StageSparsify or StageQuantize.
	// It depends on sizes alone, so that simulated time knows it before a client trains.
	Shrink func(w *Wire, p *Updates)

	// Label returns the label with which an attacker trains instead of label, one of 0 to
	// classes-1.
	Label func(label, classes int32) int32
	// Collude fills lie, what every attacker sends, from what the other clients of the round
	// send and the attack's strength. It is for attackers who know the others, and has the
	// server hold all updates.
	Collude func(lie []float32, honest [][]float32, strength float64)
}

// Upload is what a client sends to the server: its change w - w_i, as Transform.Apply finds it.
type Upload struct {
	// Values are the client's, without frozen parameters and padding, in the order of the
	// model's parameters; or those of them that are sent.
	Values []float32
	// Index has the places of Values in the whole update, ascending; nil for all.
	Index []int32
	// Updates are the keys update.*.
	Updates *Updates
	// Client is the index of the client, Round the number of the round from which it trained.
	Client, Round int

	key    uint64
	stage  Stage
	attack *Transform
	work   *uplinkMemory
}

// Draws returns a stream of random numbers of the client's update in this round and stage,
// from its beginning. Draw for each value one number, or four and so on, so that the draws of
// a value depend on its place alone.
func (u *Upload) Draws() *kernels.Stream {
	return kernels.NewStream(kernels.Key(u.key, purposeUpdate), uint64(u.stage))
}

// Keep sends the values at some places of u.Values alone, which must ascend.
func (u *Upload) Keep(places []int32) {
	for i, at := range places {
		u.Values[i] = u.Values[at]
		if u.Index != nil {
			places[i] = u.Index[at]
		}
	}
	u.Values, u.Index = u.Values[:len(places)], places
}

// Wire is how large an update is.
type Wire struct {
	// Params is the number of parameters that a client trains, Values how many of them it
	// sends, with Bits bits each.
	Params, Values, Bits int
	// Extra is the number of bits besides, such as of scales and places.
	Extra int64
}

// Bytes returns how many bytes that is.
func (w *Wire) Bytes() int64 { return (int64(w.Values)*int64(w.Bits) + w.Extra + 7) / 8 }

// transforms holds transforms by stage and name, and in the order in which they came.
var transforms = struct {
	sync.RWMutex
	all []Transform
}{}

// RegisterTransform makes a transform known by its name, so that studies of this program can
// use it, such as by update.quantize = "name", and lists have it. The error says what is wrong
// with it: a name that is taken or invalid, or functions that its stage does not have.
func RegisterTransform(t Transform) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("fl: transform %q: %s", t.Name, fmt.Sprintf(format, args...))
	}
	if t.Stage < 0 || t.Stage >= stages {
		return fail("unknown Stage %d", int(t.Stage))
	}
	if err := naming.CheckName("fl: transform", t.Name); err != nil {
		return err
	}
	compresses := t.Stage != StageAttack
	switch {
	case t.Doc == "" || !naming.Fits(t.Doc+t.Paper):
		return fail("Doc must be a line, and Doc and Paper without |, for they stand in tables")
	case compresses && (t.Apply == nil || t.Shrink == nil):
		return fail("a compression needs Apply and Shrink")
	case compresses && (t.Label != nil || t.Collude != nil):
		return fail("only an attack has Label or Collude")
	case !compresses && (t.Biased || t.Shrink != nil):
		return fail("an attack has neither Biased nor Shrink")
	case !compresses && t.Apply == nil && t.Label == nil && t.Collude == nil:
		return fail("an attack needs Apply, Label or Collude")
	}
	for _, name := range t.Uses {
		if !hasKey[Updates]("update.", name) {
			return fail("uses the unknown key %s", name)
		}
	}
	transforms.Lock()
	defer transforms.Unlock()
	if slices.ContainsFunc(transforms.all, func(o Transform) bool { return o.Name == t.Name && o.Stage == t.Stage }) {
		return fail("the name is taken; choose another one")
	}
	transforms.all = append(transforms.all, t)
	return nil
}

// Transforms returns the registered transforms of a stage.
func Transforms(s Stage) []Transform {
	transforms.RLock()
	defer transforms.RUnlock()
	return list.Where(transforms.all, func(t Transform) bool { return t.Stage == s })
}

// TransformNames returns the names of the registered transforms of a stage: the values of its
// key.
func TransformNames(s Stage) []string {
	return list.Of(Transforms(s), func(t Transform) string { return t.Name })
}

// transformByName returns a registered transform, or an error that names its key.
func transformByName(s Stage, name string) (Transform, error) {
	all := Transforms(s)
	if i := slices.IndexFunc(all, func(t Transform) bool { return t.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Transform{}, key.Unknown(s.String(), fmt.Sprintf("%.200s", name), TransformNames(s))
}
