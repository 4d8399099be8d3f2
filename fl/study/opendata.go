package study

import (
	"context"

	"github.com/fedfast/fedfast/data"
)

// OpenData opens the federation of a configuration, without its model.
func OpenData(ctx context.Context, c *Config) (*data.Federation, error) {
	return data.Open(ctx, c.data())
}
