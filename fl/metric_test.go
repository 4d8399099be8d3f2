package fl

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// TestR2IsForOneNumber refuses R2 as the objective of a model with several outputs.
func TestR2IsForOneNumber(t *testing.T) {
	for _, outputs := range []int{1, 2} {
		m, err := nn.NewModel("line", nn.Shape{H: 1, W: 1, C: 3}, outputs, nn.Dense{Units: outputs})
		if err == nil {
			m, err = m.WithLoss(nn.Loss{Kind: nn.Squared})
		}
		if err != nil {
			t.Fatal(err)
		}
		err = CheckMetric(m, tuners.MetricR2)
		if refused := err != nil && strings.Contains(err.Error(), `objective = "r2": the model predicts 2 numbers, and this is for one`); refused != (outputs > 1) {
			t.Errorf("%d outputs: error %v", outputs, err)
		}
		if err := CheckMetric(m, tuners.MetricMAE); err != nil {
			t.Errorf("%d outputs: %v", outputs, err)
		}
	}
}
