package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/internal/key"
	"github.com/fedfast/fedfast/internal/list"
)

// Places records where the keys of a configuration were set: the line of a file, or an
// assignment. The zero Places is empty.
type Places struct {
	of    map[string]place
	file  Config            // without assignments
	notes map[string]string // by key, where files of relative names were found
}

// Notes says in a line each where the files were found that a study file names relatively.
func (p Places) Notes() (all []string) {
	return list.Of(slices.Sorted(maps.Keys(p.notes)), func(key string) string { return p.notes[key] })
}

// note notes where the file of a key was found.
func (p *Places) note(key, text string) {
	if p.notes == nil {
		p.notes = map[string]string{}
	}
	p.notes[key] = text
}

// place is where a key was set, by whom, and whether a lower layer had set it.
type place struct {
	at   func() string
	by   layer
	over bool
}

// layer says who sets keys: a preset or a record, the user's file, or the user's assignments.
type layer int

const (
	byPreset layer = iota
	byFile
	bySet
)

// set records where a layer sets a key, replacing lower layers.
func (p *Places) set(key string, by layer, at func() string) {
	if p.of == nil {
		p.of = map[string]place{}
	}
	_, over := p.of[key]
	p.of[key] = place{at, by, over}
	maps.DeleteFunc(p.notes, func(of, _ string) bool { return of == key || strings.HasPrefix(of, key+"[") })
}

// Explain prefixes an error about a key, or each of joined ones, with the place where
// the key was set, if known.
func (p Places) Explain(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all := list.Of(joined.Unwrap(), func(e error) error { return p.Explain(e) })
		return errors.Join(all...)
	}
	about, ok := errors.AsType[*key.Error](err)
	if !ok {
		return err
	}
	if place, ok := p.of[about.Key]; ok {
		return fmt.Errorf("%s: %w", place.at(), err)
	}
	return err
}
