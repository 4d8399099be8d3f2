package fl

import (
	"fmt"
	"sort"
	"strings"
)

// Method is a federated method, the pair (Loc_c, Agg_b). A Method holds no
// state of its own and serves any number of trials at once.
type Method interface {
	// Name is what configurations call the method.
	Name() string
	// Doc says in a line what the method does.
	Doc() string
	// Check returns an error that names a hyperparameter that the method
	// cannot use and what to do about it.
	Check(c ClientParams, s ServerParams) error
	// Local is Loc_c: it trains l.Weights, which hold the broadcast weights,
	// in place.
	Local(l *Local)
	// NewServer returns the server side of Agg_b for one trial of a model
	// with size packed parameters.
	NewServer(size int) Server
}

// Server is the server side of Agg_b for one trial.
type Server interface {
	// Step moves the weights w of round t = 0, 1, ... by the pseudo-gradient
	// g = w - sum_i p_i w_i. It may overwrite g.
	Step(w, g []float32, t int, p ServerParams)
	// State returns the arrays that must outlive the process, in a fixed
	// order, for snapshots; the caller may read and overwrite them.
	State() [][]float32
}

// methods lists the built-in methods by name.
var methods = map[string]Method{}

// register adds a method at start-up; two methods with one name are a
// programmer's mistake.
func register(m Method) {
	if _, taken := methods[m.Name()]; taken {
		panic("fl: two methods are named " + m.Name())
	}
	methods[m.Name()] = m
}

// Methods returns the names of the built-in methods, sorted.
func Methods() []string {
	names := make([]string, 0, len(methods))
	for name := range methods {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// MethodByName returns a built-in method, or an error that lists them.
func MethodByName(name string) (Method, error) {
	m, ok := methods[name]
	if !ok {
		return nil, fmt.Errorf("unknown method %q; the methods are %s", name, strings.Join(Methods(), ", "))
	}
	return m, nil
}
