package measure

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"testing"
)

// answers of samples with their classes, and rows of probabilities.
func answers(classes int, labels []int, p [][]float64) Answers {
	a := Begin(classes, false)
	for i, y := range labels {
		a = append(append(a, float64(y)), p[i]...)
	}
	return a
}

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("%s = %.17g, want %.17g", name, got, want)
	}
}

// binary has the first vector of scikit-learn.
func binary() Answers {
	var p [][]float64
	for _, x := range []float64{.1, .4, .35, .8, .4, .4, .05, .9, .65, .65} {
		p = append(p, []float64{1 - x, x})
	}
	return answers(2, []int{0, 0, 1, 1, 0, 1, 0, 1, 1, 0}, p)
}

// three has the second.
func three() Answers {
	return answers(3, []int{0, 1, 2, 2, 1, 0, 2, 1, 0, 2, 2, 1}, [][]float64{
		{.7, .2, .1},
		{.2, .5, .3},
		{.1, .2, .7},
		{.3, .4, .3},
		{.4, .4, .2},
		{.5, .3, .2},
		{.2, .2, .6},
		{.1, .8, .1},
		{.34, .33, .33},
		{.25, .25, .5},
		{.6, .2, .2},
		{.3, .3, .4},
	})
}

func TestVectors(t *testing.T) {
	tags := Begin(3, true)
	for i, truth := range [][]float64{{1, 0, 1}, {0, 1, 0}, {1, 1, 0}, {0, 0, 1}, {1, 0, 0}} {
		p := [][]float64{{.9, .2, .6}, {.3, .6, .4}, {.7, .3, .2}, {.1, .4, .8}, {.4, .1, .5}}
		tags = append(append(tags, truth...), p[i]...)
	}
	for name, c := range map[string]struct {
		of   Answers
		want map[string]float64
	}{
		"binary": {binary(), map[string]float64{
			"roc_auc": .78, "pr_auc": .7892857142857141, "f1": .6666666666666666, "balanced_accuracy": .7,
			"mcc": .408248290463863, "brier": .171, "log_loss": .4953527021513359,
		}},
		"three": {three(), map[string]float64{
			"roc_auc": .8698082010582011, "roc_auc_weighted": .8635912698412698, "f1": .6626984126984127, "f1_micro": 2. / 3,
			"balanced_accuracy": .7,
			"mcc":               .5212765957446809, "log_loss": .7949370432474631, "ece": .2533333333333333,
		}},
		"tags": {tags, map[string]float64{"mean_ap": .9444444444444443, "label_accuracy": 12. / 15}},
	} {
		for measure, want := range c.want {
			near(t, name+" "+measure, Get(measure, []Answers{c.of}), want)
		}
	}
	want := [][]int{{3, 0, 0}, {1, 2, 1}, {1, 1, 3}}
	if got := Of([]Answers{three()}, nil, 1, false).Confusion; !reflect.DeepEqual(got, want) {
		t.Errorf("confusion %v, want %v", got, want)
	}
}

// TestClients has samples told by one client or several alike, and clients with one class left out of the mean, and
// counted.
func TestClients(t *testing.T) {
	whole := binary()
	part := func(of []float64) Answers { return append(Begin(2, false), of...) }
	parts := []Answers{part(whole[1:7]), nil, part(whole[7:25]), part(whole[25:])}
	one, several := Of([]Answers{whole}, nil, 1, false), Of(parts, nil, 1, false)
	for name, v := range one.Values {
		near(t, name, *several.Values[name].Value, *v.Value)
	}
	if v := several.Values["roc_auc"]; v.Clients != 2 || v.Undefined != 1 {
		t.Errorf("ROC AUC of %d clients, undefined for %d; want 2 and 1", v.Clients, v.Undefined)
	} else if parts := []Answers{parts[2], parts[3]}; true {
		near(t, "mean over clients", *v.ClientMean, (Get("roc_auc", parts[:1])+Get("roc_auc", parts[1:]))/2)
	}
	if v := Of([]Answers{parts[0]}, nil, 1, false).Values["roc_auc"]; v.Value != nil || v.Trivial != nil {
		t.Errorf("ROC AUC of one class: %v, must be undefined", v)
	}
	none := []Answers{nil, Begin(2, false)}
	if Of(nil, nil, 1, false) != nil || Of(none, nil, 1, false) != nil || !math.IsNaN(Get("f1", nil)) {
		t.Error("measures of no samples")
	}
}

// TestThresholds compares the thresholds chosen on validation samples with those of trying each, and what they measure.
func TestThresholds(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	draw := func(n int) (Answers, []float64, []float64) {
		a, ys, ps := Begin(2, false), []float64{}, []float64{}
		for range n {
			y, p := float64(random.IntN(2)), float64(random.IntN(20))/20
			a, ys, ps = append(a, y, 1-p, p), append(ys, y), append(ps, p)
		}
		return a, ys, ps
	}
	at := func(ys, ps []float64, threshold float64) (f1, balanced, sensitivity, specificity float64) {
		var tp, fp, tn, fn float64
		for i, y := range ys {
			switch hit := ps[i] >= threshold; {
			case hit && y == 1:
				tp++
			case hit:
				fp++
			case y == 1:
				fn++
			default:
				tn++
			}
		}
		sensitivity, specificity = tp/(tp+fn), tn/(tn+fp)
		return 2 * tp / (2*tp + fp + fn), (sensitivity + specificity) / 2, sensitivity, specificity
	}
	for range 50 {
		val, ys, ps := draw(5 + random.IntN(30))
		test, testY, testP := draw(200)
		best := [2]float64{}
		for i := range 20 {
			f1, balanced, _, _ := at(ys, ps, float64(i)/20)
			best = [2]float64{max(best[0], f1), max(best[1], balanced)}
		}
		for i, c := range Of([]Answers{test}, []Answers{val[:1], val}, 1, false).Thresholds {
			f1, balanced, _, _ := at(ys, ps, c.Threshold)
			near(t, c.For+" on validation", [2]float64{f1, balanced}[i], best[i])
			f1, balanced, sensitivity, specificity := at(testY, testP, c.Threshold)
			near(t, "F1", *c.F1, f1)
			near(t, "balanced accuracy", *c.Balanced, balanced)
			near(t, "sensitivity", *c.Sensitivity, sensitivity)
			near(t, "specificity", *c.Specificity, specificity)
		}
	}
	if got := Of([]Answers{binary()}, []Answers{append(Begin(2, false), 1, .5, .5)}, 1, false).Thresholds; got != nil {
		t.Errorf("thresholds by one class: %+v", got)
	}
}

// TestTrivial compares the values of the trivial predictor with those of its answers.
func TestTrivial(t *testing.T) {
	for _, c := range []struct {
		classes int
		labels  []int
	}{{2, []int{0, 1, 1, 0, 0}}, {2, []int{1, 1, 0}}, {2, []int{0, 1}}, {3, []int{2, 1, 2, 0, 2}}, {4, []int{3, 1, 1}}} {
		counts := make([]float64, c.classes)
		for _, y := range c.labels {
			counts[y] += 1 / float64(len(c.labels))
		}
		a := answers(c.classes, c.labels, slices.Repeat([][]float64{counts}, len(c.labels)))
		for name, v := range Of([]Answers{a}, nil, 1, false).Values {
			near(t, name+" of the trivial predictor", *v.Trivial, *v.Value)
		}
	}
	tags := append(Begin(2, true), 1, 0, .75, .25, 1, 0, .75, .25, 1, 1, .75, .25, 0, 0, .75, .25)
	for name, v := range Of([]Answers{tags}, nil, 1, false).Values {
		near(t, name+" of the trivial predictor", *v.Trivial, *v.Value)
	}
}

func TestFit(t *testing.T) {
	good := append(Begin(2, false), 1, .25, .75)
	for name, a := range map[string]Answers{
		"none": {}, "other classes": append(Begin(3, false), 1, .25, .75),
		"cut off": good[:3], "too many": append(slices.Clone(good), good[1:]...),
		"class":        append(Begin(2, false), 2, .25, .75),
		"half a class": append(Begin(2, false), .5, .25, .75), "NaN": append(Begin(2, false), 1, math.NaN(), .75),
		"above 1": append(Begin(2, false), 1, .25, 1.5), "tags": append(Begin(2, true), 1, 0, .25, .75),
	} {
		if a.Fit(2, false, 1) {
			t.Errorf("%s: answers fit that do not", name)
		}
	}
	if !good.Fit(2, false, 1) || !Begin(2, true).Fit(2, true, 0) {
		t.Error("answers do not fit that do")
	}
}

// reference computes the measures by scikit-learn, by hand where it raises or has another definition.
const reference = `
import json, sys, warnings
import numpy as np
from sklearn import metrics as M
warnings.simplefilter("ignore")
out = []
for c in json.load(sys.stdin):
    p = np.array(c["p"]); k = p.shape[1]; r = {}
    if c["tags"]:
        t = np.array(c["truth"])
        ap = [M.average_precision_score(t[:, j], p[:, j]) for j in range(k) if 0 < t[:, j].sum() < len(t)]
        r = {"label_accuracy": ((p >= .5) == t).mean(), "mean_ap": np.mean(ap) if ap else None}
        out.append(r); continue
    y = np.array(c["truth"])[:, 0].astype(int)
    pred = (p[:, 1] >= .5).astype(int) if k == 2 else p.argmax(1)
    some = [j for j in range(1 if k == 2 else 0, k) if 0 < (y == j).sum() < len(y)]
    auc = [M.roc_auc_score(y == j, p[:, j]) for j in some]
    ap = [M.average_precision_score(y == j, p[:, j]) for j in some]
    r["roc_auc"] = np.mean(auc) if some else None
    r["pr_auc"] = np.mean(ap) if some else None
    r["balanced_accuracy"] = M.recall_score(y, pred, average="macro", labels=np.unique(y))
    r["mcc"] = M.matthews_corrcoef(y, pred)
    r["log_loss"] = M.log_loss(y, p, labels=range(k), eps=2.0**-52)
    r["brier"] = M.brier_score_loss(y, p[:, 1], pos_label=1) if k == 2 else ((p - np.eye(k)[y]) ** 2).sum(1).mean()
    if k == 2:
        r["f1"] = M.f1_score(y, pred) if (y | pred).any() else None
    else:
        r["f1"] = M.f1_score(y, pred, average="macro", labels=np.union1d(y, pred))
        r["f1_micro"] = M.f1_score(y, pred, average="micro")
        r["roc_auc_weighted"] = np.average(auc, weights=[(y == j).sum() for j in some]) if some else None
    top = p[np.arange(len(y)), pred]; ece = 0
    for b in range(15):
        here = (top > b / 15) & (top <= (b + 1) / 15)
        if here.any(): ece += abs((pred == y)[here].mean() - top[here].mean()) * here.mean()
    r["ece"] = ece
    out.append(r)
json.dump(out, sys.stdout)
`

// TestAgainstScikitLearn compares 200 random cases with ties, missing classes and probabilities of 0 and 1.
func TestAgainstScikitLearn(t *testing.T) {
	python := ""
	for _, p := range []string{os.Getenv("FEDFAST_PYTHON"), "python3", "/usr/bin/python3"} {
		if p != "" && exec.Command(p, "-c", "import sklearn").Run() == nil {
			python = p
			break
		}
	}
	if python == "" {
		t.Skip("no python3 here can import sklearn; install Debian's python3-sklearn to compare with scikit-learn")
	}
	type example struct {
		Tags  bool        `json:"tags"`
		Truth [][]float64 `json:"truth"`
		P     [][]float64 `json:"p"`
	}
	var cases []example
	var all [][]Answers
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		k, n, occur := 2+random.IntN(5), 1+random.IntN(60), 0
		c := example{Tags: i%4 == 3}
		occur = 1 + random.IntN(k)
		steps := 1 << (1 + random.IntN(8)) // few of them make ties
		clients := []Answers{Begin(k, c.Tags)}
		for range n {
			truth, p, sum := []float64{float64(random.IntN(occur))}, make([]float64, k), 0.0
			if c.Tags {
				truth = make([]float64, k)
			}
			for j := range p {
				p[j] = float64(random.IntN(steps+1)) / float64(steps)
				sum += p[j]
				if c.Tags {
					truth[j] = float64(random.IntN(2))
				}
			}
			for j := range p {
				if !c.Tags && sum > 0 {
					p[j] /= sum
				} else if !c.Tags {
					p[j] = 1 / float64(k)
				}
			}
			c.Truth, c.P = append(c.Truth, truth), append(c.P, p)
			if random.IntN(5) == 0 {
				clients = append(clients, Begin(k, c.Tags))
			}
			last := &clients[len(clients)-1]
			*last = append(append(*last, truth...), p...)
		}
		cases, all = append(cases, c), append(all, clients)
	}
	text, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	var wrong bytes.Buffer
	cmd := exec.CommandContext(t.Context(), python, "-c", reference)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &wrong
	told, err := cmd.Output()
	var want []map[string]*float64
	if err == nil {
		err = json.Unmarshal(told, &want)
	}
	if err != nil || len(want) != len(cases) {
		t.Fatalf("%v: %s", err, wrong.String())
	}
	for i, clients := range all {
		got := Of(clients, nil, 1, false).Values
		if len(got) != len(want[i]) {
			t.Errorf("case %d: %d measures, want %d", i, len(got), len(want[i]))
		}
		for name, x := range want[i] {
			switch v := got[name].Value; {
			case (x == nil) != (v == nil):
				t.Errorf("case %d: %s = %v, want %v", i, name, v, x)
			case x != nil:
				near(t, name, *v, *x)
			}
		}
	}
}
