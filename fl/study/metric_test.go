package study

import (
	"strings"
	"testing"

	"github.com/fedfast/fedfast/nn"
	"github.com/fedfast/fedfast/nn/models"
	"github.com/fedfast/fedfast/tuners"
)

// TestMetricsFollowTheLoss accepts the metrics of a classifier and no other.
func TestMetricsFollowTheLoss(t *testing.T) {
	m, err := models.FromLayers([]models.LayerSpec{{Type: "dense"}}, nn.Shape{H: 2, W: 2, C: 1}, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range []string{"", tuners.MetricError, tuners.MetricLoss, tuners.MetricAccuracy} {
		if err := checkMetric(m, metric); err != nil {
			t.Error(err)
		}
	}
	if err := checkMetric(m, tuners.MetricR2); err == nil || !strings.Contains(err.Error(),
		"use accuracy, seconds_to_goal, jain, roc_auc, pr_auc, f1, balanced_accuracy, log_loss, error or loss") {
		t.Errorf("R2 of a classifier: %v", err)
	}
}
