package cluster

import (
	"context"
	"fmt"

	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/cluster/internal/wire"
	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/kernels"
)

// terms are what workers must agree to so that their results have the study's bits, and
// what they are told of the study.
type terms struct {
	version string
	level   string // of the CPU
	config  string // the study file
	plain   bool   // see study.Setup.Unscored
	facts   study.Facts
	most    int64 // maximum size of a blob in bytes
}

func newTerms(ctx context.Context, s *study.Setup, version string) (terms, error) {
	t := terms{version: version, level: kernels.Current().String(), plain: s.Unscored}
	text, err := config.Encode(&s.Config)
	if err != nil {
		return t, err
	}
	t.config = string(text)
	w, err := study.NewWorker(*s)
	if err != nil {
		return t, err
	}
	defer w.Close()
	t.most = w.MostBytes()
	t.facts, err = w.Facts(ctx)
	return t, err
}

// refuse returns why a worker may not join, empty if it may.
func (t *terms) refuse(h *wire.Hello) string {
	generic := func(level string) bool { return level == "generic" }
	switch {
	case h.Protocol != wire.Protocol:
		return fmt.Sprintf("protocol version %d, the coordinator has %d; run the coordinator's version of fedfast",
			h.Protocol, wire.Protocol)
	case h.Version != t.version:
		return fmt.Sprintf("version %s of fedfast, the coordinator has %s; run the coordinator's version", h.Version,
			t.version)
	case generic(h.Level) != generic(t.level):
		return fmt.Sprintf("CPU level %s, the coordinator has %s, which gives other bits; set the same level with --cpu",
			h.Level, t.level)
	case h.Facts == nil:
		return ""
	case h.Facts.Data != t.facts.Data:
		return fmt.Sprintf("data %s, the study has %s; set --data to the study's data", h.Facts.Data, t.facts.Data)
	case h.Facts.Layout != t.facts.Layout:
		return "the model's memory layout differs from the study's; run the coordinator's version of fedfast"
	case h.Facts.Golden != t.facts.Golden:
		return fmt.Sprintf("its first rounds give other bits than the study's (%.12s, want %.12s); "+
			"this CPU (%s, level %s) or this build of fedfast cannot be used for the study",
			h.Facts.Golden, t.facts.Golden, h.CPU, h.Level)
	}
	return ""
}
