package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/tuners"
)

// checkMetric returns an error for a metric that models of a loss do not have.
func checkMetric(m *nn.Model, name string) error {
	own := map[nn.Target][]string{
		nn.OneLabel:   {tuners.MetricAccuracy, tuners.MetricSecondsToGoal, tuners.MetricJain},
		nn.ManyLabels: {tuners.MetricRecall, tuners.MetricSecondsToGoal, tuners.MetricJain},
		nn.Numbers:    {tuners.MetricRMSE, tuners.MetricMAE, tuners.MetricR2},
	}
	if fl.Measured(m) {
		answered := []string{tuners.MetricROCAUC, tuners.MetricPRAUC, tuners.MetricF1, tuners.MetricBalanced, tuners.MetricLogLoss}
		own[nn.OneLabel] = append(own[nn.OneLabel], answered...)
		own[nn.ManyLabels] = append(own[nn.ManyLabels], tuners.MetricMeanAP)
	}
	if tuners.Summed(name) {
		return nil
	}
	all, names := []string{"", tuners.MetricError, tuners.MetricLoss, tuners.MetricErrorP90, tuners.MetricErrorWorst, tuners.MetricErrorVariance, tuners.MetricErrorUnseen, tuners.MetricUnseenAdapted}, own[m.Loss().Target()]
	if slices.Contains(all, name) || slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("objective = %q: models with the loss %q have none; use %s, error or loss", name, cmp.Or(m.Loss().Kind, nn.CrossEntropy), strings.Join(names, ", "))
}
