package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/internal/test/realdata"
)

// TestHeartAsScikitLearn holds that a logistic regression of four hospitals' tables, trained by FedAvg with one
// step a round on all samples of each, equals scikit-learn 1.2.1 on the samples of all together: one-hot
// categories (those of fewer than five training samples together), means for missing values with an indicator,
// standardized by the training samples, LogisticRegression(C=1). Every third patient of a hospital is tested.
func TestHeartAsScikitLearn(t *testing.T) {
	from, dir := realdata.Dir(t, "heart"), t.TempDir()
	hospitals := map[string]struct{ auc, accuracy float64 }{
		"cleveland":   {0.8940476190476191, 0.8217821782178217},
		"hungarian":   {0.9090501792114695, 0.826530612244898},
		"switzerland": {0.6578947368421052, 0.9024390243902439},
		"va":          {0.6964285714285714, 0.8333333333333334},
	}
	for name := range hospitals {
		text, err := os.ReadFile(filepath.Join(from, "processed."+name+".data"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimSpace(string(text)), "\n")
		parts := map[string]string{"train": lines[0], "test": lines[0]}
		for i, line := range lines[1:] {
			parts[[]string{"train", "train", "test"}[i%3]] += line
		}
		for part, text := range parts {
			path := filepath.Join(dir, "heart", part, name+".csv")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	study, table := filepath.Join(dir, "study"), filepath.Join(dir, "predictions.csv")
	for _, args := range [][]string{
		{
			"run", "--preset", "heart", "--set", "data.path=" + filepath.Join(dir, "heart"), "--set", "data.split=100/0/files",
			"--set", "client.batch=1024", "--set", "client.lr=0.5", "--set", fmt.Sprintf("client.weight_decay=%v", 1./614),
			"--set", "rounds=2000", "--set", "eval.every=2000", "--study", study,
		},
		{"eval", study, "--predictions", table, "--set", "eval.personalized=false"},
	} {
		if out, err := exec.Command("fedfast", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	file, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was read only
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	ill, well, right := map[string][]float64{}, map[string][]float64{}, map[string]float64{}
	for _, row := range rows[1:] {
		client, label, predicted := row[0], row[4], row[5]
		p, err := strconv.ParseFloat(row[6], 64)
		if err != nil {
			t.Fatal(err)
		}
		if predicted == "0" {
			p = 1 - p
		}
		if label == predicted {
			right[client]++
		}
		if label == "1" {
			ill[client] = append(ill[client], p)
		} else {
			well[client] = append(well[client], p)
		}
	}
	for name, want := range hospitals {
		above, pairs := 0.0, float64(len(ill[name])*len(well[name]))
		for _, a := range ill[name] {
			for _, b := range well[name] {
				if a > b {
					above++
				} else if a == b {
					above += 0.5
				}
			}
		}
		auc, accuracy := above/pairs, right[name]/float64(len(ill[name])+len(well[name]))
		if !(math.Abs(auc-want.auc) <= 0.015) || !(math.Abs(accuracy-want.accuracy) <= 0.02) {
			t.Errorf("%s: AUC %.4f and accuracy %.4f, scikit-learn has %.4f and %.4f", name, auc, accuracy, want.auc,
				want.accuracy)
		}
	}
}
