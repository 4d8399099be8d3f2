package workdir

import (
	"context"
	"path/filepath"
	"testing"
)

// TestSeedsThatEnd returns the results of the seeds before the one that was interrupted.
func TestSeedsThatEnd(t *testing.T) {
	c := small(t, "tuner.reference=false")
	for name, seeds := range map[string]func(ctx context.Context, path string, o Options) (int, bool, error){
		"tune": func(ctx context.Context, path string, o Options) (int, bool, error) {
			all, err := TuneSeeds(ctx, path, c, 3, o)
			return len(all), len(all) > 0 && all[len(all)-1] != nil, err
		},
		"run": func(ctx context.Context, path string, o Options) (int, bool, error) {
			all, err := RunSeeds(ctx, path, c, 3, o)
			return len(all), len(all) > 0 && all[len(all)-1] != nil, err
		},
	} {
		ctx, stop := context.WithCancel(t.Context())
		o := here()
		o.Observer = &breaker{left: 14, cancel: stop} // in the second seed
		if n, is, err := seeds(ctx, filepath.Join(t.TempDir(), name), o); err == nil || n != 1 || !is {
			t.Errorf("%s: %d results, the last is one: %v, error %v", name, n, is, err)
		}
		stop()
	}
}
