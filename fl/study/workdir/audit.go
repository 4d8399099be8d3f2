package workdir

import (
	"context"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// Audit is study.Audit of a configuration, whose data it opens.
func Audit(ctx context.Context, c *config.Config, canaries int, o Options) (*result.AuditResult, error) {
	own := *c
	if err := own.CheckFor(config.ModeRun); err != nil {
		return nil, err
	}
	setup, err := (&Study{Config: &own, Stored: &result.Stored{}, log: o.Log}).prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	return study.Audit(ctx, *setup, canaries)
}
