package bench_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/bench"
)

// TestAdviceOnPrecision compares the advice on bf16 with the records of trainings and rounds.
func TestAdviceOnPrecision(t *testing.T) {
	text, err := os.ReadFile("results/precision.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("results/advice.md")
	if err != nil {
		t.Fatal(err)
	}
	columns := func(scale float64, names ...string) (all []any) {
		for _, row := range rows[1:] {
			for _, name := range names {
				x, err := strconv.ParseFloat(row[slices.Index(rows[0], name)], 64)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, scale*x)
			}
		}
		return all
	}
	args := slices.Concat(columns(100, "global_fp32"), columns(100, "global_difference", "global_half"),
		columns(100, "personalized_difference", "personalized_half"))
	if len(args) != 3+6+6 {
		t.Fatalf("%d figures", len(args))
	}
	says := func(format string, args ...any) {
		if want := fmt.Sprintf(format, args...); !strings.Contains(strings.Join(strings.Fields(string(page)), " "), want) {
			t.Errorf("advice.md lacks %q", want)
		}
	}
	says("that end at %.1f, %.1f and %.1f %% in fp32, the test error in bf16 differs by %.1f +- %.1f, %.1f +- %.1f and %.1f +- %.1f points, "+
		"the personalized one by %.1f +- %.1f, %.1f +- %.1f and %.1f +- %.1f", args...)
	loss := columns(-1, "loss_difference", "loss_half")
	says("a training loss that is %.3f +- %.3f lower in bf16", loss[0], -loss[1].(float64))

	var rounds []bench.Result
	for _, name := range []string{"rounds-zen4", "rounds-zen5"} {
		report, err := bench.ReadReport("results/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		rounds = append(rounds, report.Results...)
	}
	least, gain := math.Inf(1), 0.0
	for _, r := range rounds {
		if r.Gain > 0 {
			least, gain = min(least, r.Gain), max(gain, r.Gain)
		}
	}
	says("Rounds are %.1f to %.1f times as fast", least, gain)
}
