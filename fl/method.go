package fl

import (
	"fmt"
	"sort"
	"strings"

	"github.com/fedfast/fedfast/fl/key"
)

// Method is a federated method, the pair (Loc_c, Agg_b). A Method holds no
// state of its own and serves any number of trials at once.
type Method interface {
	// Name is what configurations call the method.
	Name() string
	// Doc says in a line what the method does.
	Doc() string
	// Paper is where the method comes from: authors and year, title, number.
	Paper() string
	// Uses lists the hyperparameters that the method uses; it refuses others that
	// are set.
	Uses() []Use
	// Local is Loc_c: it trains l.Weights, which hold the broadcast weights,
	// in place.
	Local(l *Local)
	// NewServer returns the server side of Agg_b for one trial of a model
	// with size packed parameters.
	NewServer(size int) Server
}

// Server is the server side of Agg_b for one trial.
type Server interface {
	// Step moves the weights w by what the clients of a round returned.
	Step(w []float32, u *Update, p ServerParams)
	// State returns the arrays that must outlive the process, in a fixed
	// order, for snapshots; the caller may read and overwrite them.
	State() [][]float32
}

// Update is what a round's clients returned together.
type Update struct {
	// Mean is the pseudo-gradient g = sum_i p_i (w - w_i), with p_i the shares of
	// the clients' weights: those of their training examples, unless the method
	// weighs otherwise. The server may overwrite it. It is 0 without any client.
	Mean []float32
	// Extra is the second sum of a method that has one, else nil.
	Extra []float32
	// Number is sum_i p_i n_i of a method whose clients have a number n_i each, else
	// 0.
	Number float64
	// Weight is the sum of the clients' weights, Taken their number: those whose
	// results were finite.
	Weight float64
	Taken  int
	// Clients is N, the number of clients in the federation.
	Clients int
	// Round is t = 0, 1, ...
	Round int
}

// defaulter is a method with hyperparameters of its own that must not be 0.
type defaulter interface {
	// defaults sets them.
	defaults(c *ClientParams, s *ServerParams)
}

// Defaults returns the hyperparameters that a method starts from.
func Defaults(m Method) (ClientParams, ServerParams) {
	c, s := DefaultClientParams(), DefaultServerParams()
	if d, ok := m.(defaulter); ok {
		d.defaults(&c, &s)
	}
	return c, s
}

// personalizer is a method whose personalized model is not what Local returns.
type personalizer interface {
	// personalize makes l.Weights, which hold the broadcast weights, the client's
	// personalized model; it changes no state.
	personalize(l *Local)
}

// gatherer is a method whose server needs a second sum over the clients.
type gatherer interface {
	// gather adds a client's part to the sum, in the fixed order of the clients;
	// delta is w - w_i.
	gather(extra, delta []float32, l *Local)
}

// numberer is a method whose server needs the mean of a number that each client
// has.
type numberer interface {
	// number returns the client's, after its training.
	number(l *Local) float64
}

// fitter is a method that does not fit every model or setting.
type fitter interface {
	// fit returns an error that says why the method cannot be used.
	fit(e *Engine) error
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
		return nil, fmt.Errorf("unknown method %q%s; the methods are %s", name, key.DidYouMean(name, key.Names(Methods()...)), strings.Join(Methods(), ", "))
	}
	return m, nil
}
