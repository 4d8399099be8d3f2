package config

import (
	"errors"
	"fmt"

	"github.com/fedfast/fedfast/internal/key"
)

// Places records where the keys of a configuration were set: the line of a file, or an
// assignment. The zero Places is empty.
type Places struct {
	of map[string]func() string
}

// set records where a layer sets a key, replacing lower layers.
func (p *Places) set(key string, place func() string) {
	if p.of == nil {
		p.of = map[string]func() string{}
	}
	p.of[key] = place
}

// Explain prefixes an error about a key, or each of joined ones, with the place where
// the key was set, if known.
func (p Places) Explain(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, p.Explain(e))
		}
		return errors.Join(all...)
	}
	about, ok := errors.AsType[*key.Error](err)
	if !ok {
		return err
	}
	if place := p.of[about.Key]; place != nil {
		return fmt.Errorf("%s: %w", place(), err)
	}
	return err
}
