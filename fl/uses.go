package fl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl/hyper"
	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/tuners"
)

// CheckSubnets returns an error if the method's clients train the whole network.
func (m Method) CheckSubnets() error {
	if m.Subnet != nil {
		return nil
	}
	return fmt.Errorf("method %q trains the whole network; leave it out, or use method \"supernet\"", m.Name)
}

// CheckParams returns an error that names the first hyperparameter that is out of
// its range, or that the method cannot use as it is or would ignore silently, and
// what to do about it.
func (m Method) CheckParams(c ClientParams, s ServerParams) error {
	if err := c.Check(); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return err
	}
	if err := m.CheckSubnets(); err != nil && c.Arch != "" {
		return fmt.Errorf("%s%s: %w", tuners.ArchPrefix, strings.Fields(c.Arch)[0], err)
	}
	v := hyper.Values{Client: c, Server: s}
	for _, u := range m.Uses {
		if err := u.Check(m.Name, &v); err != nil {
			return err
		}
	}
	for p := range hyper.All() {
		if p.Get(&v) != p.Default && m.ignores(p) {
			return &key.Error{Key: p.Name, Problem: fmt.Sprintf(" = %s: method %q does not use it; leave it out%s", p.Literal(&v), m.Name, orUse(users(p.Name)))}
		}
	}
	return nil
}

// ignores says whether a hyperparameter means nothing to the method.
func (m Method) ignores(p *hyper.Param) bool {
	return p.Optional && !slices.ContainsFunc(m.Uses, func(u hyper.Use) bool { return u.Key == p.Name })
}

// CheckControl returns an error if the method ignores the hyperparameter of a name, which a
// client tuner wants to set in each round. Names of no hyperparameter are not checked.
func (m Method) CheckControl(name string) error {
	for p := range hyper.All() {
		if p.Name == name && m.ignores(p) {
			return fmt.Errorf("it sets %s, which method %q does not use; leave it out%s", name, m.Name, orUse(users(name)))
		}
	}
	return nil
}

// orUse offers methods to choose from.
func orUse(names []string) string {
	const most = 4
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return fmt.Sprintf(", or use method %q", names[0])
	case n > most:
		return ", or use one of the methods " + strings.Join(names[:most], ", ") + " ..."
	default:
		return ", or use one of the methods " + strings.Join(names, ", ")
	}
}
