package study

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/fl/key"
)

// OpenData opens the federation of a configuration, without its model.
func OpenData(ctx context.Context, c *Config) (*data.Federation, error) {
	if err := c.checkSet(); err != nil {
		return nil, err
	}
	return data.Open(ctx, c.data())
}

// checkSet returns an error for a set of data that there is not.
func (c *Config) checkSet() error {
	if known := dataNames(); c.Data.Name != "" && !slices.Contains(known, c.Data.Name) {
		return unknownName("data.name", c.Data.Name, known)
	}
	return nil
}

// dataNames returns the names of the sets of data.
func dataNames() []string {
	var known []string
	for _, s := range data.Sets() {
		known = append(known, s.Name)
	}
	return known
}

// unknownName is the error for a key whose value is no known name.
func unknownName(name, value string, known []string) error {
	return &key.Error{Key: name, Problem: fmt.Sprintf(" = %q: there is none of that name%s; use one of %s", clip(value), key.DidYouMean(value, key.Names(known...)), strings.Join(known, ", "))}
}
