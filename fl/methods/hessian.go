package methods

import (
	"fmt"

	"github.com/fedfast/fedfast/fl"
)

// needsHessian returns an error for a model without products with its Hessian.
func needsHessian(cfg *fl.Config) error {
	if err := cfg.Model.CheckHessian(); err != nil {
		return fmt.Errorf("method %q: %w", cfg.Method.Name(), err)
	}
	return nil
}
