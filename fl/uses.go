package fl

import (
	"cmp"
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
	if err := cmp.Or(c.Check(), s.Check()); err != nil {
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
		if p.Optional && p.Get(&v) != p.Default {
			if problem := m.Ignores(p.Name); problem != "" {
				return &key.Error{Key: p.Name, Problem: fmt.Sprintf(" = %s: %s", p.Literal(&v), problem)}
			}
		}
	}
	return nil
}

// Ignores returns what to say of a key of a study file, such as "client.mu", that the method does
// not use: that it does not, and which methods do. It returns "" for a key that the method uses,
// or that methods do not differ in.
func (m Method) Ignores(name string) string {
	users := Users(name)
	if len(users) == 0 || slices.Contains(m.Settings(), name) || slices.ContainsFunc(m.Uses, func(u hyper.Use) bool { return u.Key == name }) {
		return ""
	}
	return fmt.Sprintf("method %q does not use it; leave it out%s", m.Name, orUse(users))
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
