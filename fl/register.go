package fl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/naming"
)

// registry holds methods by name. Programs may register theirs at any time.
var registry = struct {
	sync.RWMutex
	methods map[string]Method
}{methods: map[string]Method{}}

// Register makes a method known by its name, so that studies of this program can
// train with it (method = "name"), tuners can set what it uses, and lists of
// methods have it. The built-in methods register themselves when package fl/methods
// is imported. The error says what is wrong with the method: a name that is taken
// or invalid, the use of an unknown hyperparameter, or defaults that the method itself
// refuses.
func Register(m Method) error {
	if err := cmp.Or(m.check(), naming.CheckName("fl: method", m.Name)); err != nil {
		return err
	}
	if m.Doc == "" || !naming.Fits(m.Doc+m.Paper) {
		return fmt.Errorf("fl: method %q: Doc must be a line, and Doc and Paper without |, for they stand in tables", m.Name)
	}
	if strings.Contains(m.Differs+m.Synchronous+m.Whole, "\n") {
		return fmt.Errorf("fl: method %q: Differs, Synchronous and Whole must each be a line", m.Name)
	}
	seen := map[string]bool{}
	for _, u := range m.Uses {
		if seen[u.Key] {
			return fmt.Errorf("fl: method %q uses %s twice", m.Name, u.Key)
		}
		seen[u.Key] = true
	}
	c, s := m.Defaults()
	if err := m.CheckParams(c, s); err != nil {
		return fmt.Errorf("fl: method %q with its own defaults: %w", m.Name, err)
	}
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.methods[m.Name]; taken {
		return fmt.Errorf("fl: method %q: the name is taken; choose another one", m.Name)
	}
	registry.methods[m.Name] = m
	return nil
}

// Methods returns the names of the registered methods, sorted. Without an import of
// package fl/methods the built-in ones are not among them.
func Methods() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.methods))
}

// MethodByName returns a registered method, or an error that lists them.
func MethodByName(name string) (Method, error) {
	registry.RLock()
	m, ok := registry.methods[name]
	registry.RUnlock()
	if !ok {
		return Method{}, fmt.Errorf("unknown method %.200q%s; the methods are %s", name, key.DidYouMean(name, key.Names(Methods()...)), strings.Join(Methods(), ", "))
	}
	return m, nil
}

// Users returns the names of the methods that use a key of a study file, sorted; none for a key
// that does not depend on the method.
func Users(name string) []string {
	users := []string{}
	for _, method := range Methods() {
		m, err := MethodByName(method)
		if err == nil && (slices.ContainsFunc(m.Uses, func(u hyper.Use) bool { return u.Key == name && !u.Fixed() }) || slices.Contains(m.Settings(), name)) {
			users = append(users, method)
		}
	}
	return users
}

// Settings returns the other keys of a study file that the method reads.
func (m Method) Settings() []string {
	keys := slices.Clone(m.Reads)
	if m.StateLen != nil {
		keys = append(keys, "data.state_memory")
	}
	return keys
}
