package fl

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/fl/key"
)

// registry holds methods by name. Programs may register theirs at any time.
var registry = struct {
	sync.RWMutex
	methods map[string]Method
}{methods: map[string]Method{}}

// methodName is what a method can be called: it stands in study files, tables and
// names of files.
var methodName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// Register makes a method known by its name, so that studies of this program can
// train with it (method = "name"), tuners can set what it uses, and lists of
// methods have it. The built-in methods register themselves when package fl/methods
// is imported. The error says what is wrong with the method: a name that is taken
// or cannot be one, a use of a hyperparameter that there is not, defaults that it
// refuses itself.
func Register(m Method) error {
	if m == nil {
		return errors.New("fl: Register of a nil method")
	}
	name := m.Name()
	if !methodName.MatchString(name) {
		return fmt.Errorf("fl: method %q (%T): a name must be lower-case letters, digits, - and _, and begin with a letter", name, m)
	}
	if m.Doc() == "" || strings.ContainsAny(m.Doc()+m.Paper(), "\n|") {
		return fmt.Errorf("fl: method %q (%T): Doc must be a line, and Doc and Paper without |, for they stand in tables", name, m)
	}
	if d, ok := m.(Differing); ok && (d.Differs() == "" || strings.Contains(d.Differs(), "\n")) {
		return fmt.Errorf("fl: method %q (%T): Differs must be a line", name, m)
	}
	seen := map[string]bool{}
	for _, u := range m.Uses() {
		if _, ok := hyper.Find(u.Key); !ok {
			return u.unknown(m)
		}
		if seen[u.Key] {
			return fmt.Errorf("fl: method %q (%T) uses %s twice", name, m, u.Key)
		}
		seen[u.Key] = true
	}
	c, s := Defaults(m)
	if err := CheckParams(m, c, s); err != nil {
		return fmt.Errorf("fl: method %q (%T) refuses its own defaults: %w", name, m, err)
	}
	registry.Lock()
	defer registry.Unlock()
	if other, taken := registry.methods[name]; taken {
		return fmt.Errorf("fl: method %q (%T): the name is taken by %T; choose another one", name, m, other)
	}
	registry.methods[name] = m
	return nil
}

// Methods returns the names of the registered methods, sorted. Without an import of
// package fl/methods the built-in ones are not among them.
func Methods() []string {
	registry.RLock()
	defer registry.RUnlock()
	names := make([]string, 0, len(registry.methods))
	for name := range registry.methods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// MethodByName returns a registered method, or an error that lists them.
func MethodByName(name string) (Method, error) {
	registry.RLock()
	m, ok := registry.methods[name]
	registry.RUnlock()
	if !ok {
		return nil, fmt.Errorf("unknown method %.200q%s; the methods are %s", name, key.DidYouMean(name, key.Names(Methods()...)), strings.Join(Methods(), ", "))
	}
	return m, nil
}

// Users returns the names of the methods that use a hyperparameter, sorted.
func Users(name string) []string {
	var users []string
	for _, method := range Methods() {
		m, err := MethodByName(method)
		if err == nil && slices.ContainsFunc(m.Uses(), func(u Use) bool { return u.Key == name && !u.Fixed() }) {
			users = append(users, method)
		}
	}
	return users
}

// Settings returns the other keys of a study file that the method reads.
func Settings(m Method) []string {
	var keys []string
	if r, ok := m.(Reader); ok {
		keys = append(keys, r.Reads()...)
	}
	if _, ok := m.(Stateful); ok {
		keys = append(keys, "data.state_memory")
	}
	return keys
}
