package tuners

import (
	"math"
	"testing"
)

func TestUnusableReports(t *testing.T) {
	tests := []struct {
		report TrialReport
		want   bool
	}{
		{TrialReport{Score: 0}, false},
		{TrialReport{Score: -1e300}, false},
		{TrialReport{Score: 0.5, Failed: true}, true},
		{TrialReport{Score: math.NaN()}, true},
		{TrialReport{Score: math.Inf(1)}, true},
		{TrialReport{Score: math.Inf(-1)}, true},
	}
	for _, tt := range tests {
		if got := tt.report.Unusable(); got != tt.want {
			t.Errorf("%+v: Unusable() = %v, want %v", tt.report, got, tt.want)
		}
	}
}
