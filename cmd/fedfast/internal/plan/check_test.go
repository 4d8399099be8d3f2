package plan

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/fl/study/config"
	"github.com/fedfast/fedfast/fl/study/result"
)

// of is a study of three seeds whose errors and losses fall from 0.6 by the powers of keep over 20 rounds, and lie
// apart by 0.02.
func of(x, keep float64) study {
	t := study{X: x}
	for seed := -1.; seed <= 1; seed++ {
		r := &result.RunResult{Rounds: 20}
		for i := 1; i <= 20; i++ {
			y := 0.6*math.Pow(keep, float64(i)) + 0.2 + 0.02*seed
			r.TrainLoss = append(r.TrainLoss, y)
			if i%2 == 0 {
				r.Curve = append(r.Curve, result.CurvePoint{Round: i, TestError: y})
			}
		}
		t.runs = append(t.runs, r)
	}
	return t
}

// TestCheck compares logs with a band by its verdicts; 0.02 apart over three seeds is 0.067 on each side.
func TestCheck(t *testing.T) {
	planned := &Plan{best: &config.Config{}, name: "error", share: true, of: map[string][]study{
		federate: {of(0, 0.7)}, "rate": {of(0.01, 0.95), of(0.3, 0.5)},
	}}
	planned.best.Client.LR = 0.1
	rows := func(column string, y func(round float64) float64) string {
		var text strings.Builder
		fmt.Fprintf(&text, "round,%s\n", column)
		for r := 1.; r <= 20; r++ {
			fmt.Fprintf(&text, "%v,%v\n", r, y(r))
		}
		return text.String()
	}
	curve := func(keep float64) func(float64) float64 {
		return func(r float64) float64 { return 0.6*math.Pow(keep, r) + 0.2 }
	}
	late := func(r float64) float64 { return 1 - curve(0.7)(r) - math.Floor(r/7)*0.05 }
	lr := "; other learning rate likely: as with client.lr=0.01 instead of 0.1."
	tests := map[string]string{
		rows("error", curve(0.7)):                           "Within: 19 of 19 rounds are in the interval.",
		rows("loss", curve(0.7)):                            "Within: 20 of 20 rounds are in the interval.",
		rows("loss", curve(0.945)):                          "Slower from round 1" + lr,
		rows("loss", curve(0.8)):                            "Slower from round 2 to 7.",
		rows("accuracy", late):                              "Slower from round 14.",
		rows("error", func(float64) float64 { return 0.1 }): "Faster from round 2.",
		"round,error\n2,0.5\n4,0.3\n":                       "Too few rounds to tell.",
		"\ufeffRound, Loss\r\n1,0.62\r\n2,0.5\r\n3,0.4\r\n": "Within: 3 of 3 rounds are in the interval.",
		// As others write them.
		"server-round;train_loss\n1;0,62\n2;0,5\n3;0,4\n":                      "Within: 3 of 3 rounds are in the interval.",
		"loss\tEval_Acc\tround\n9\t\t1\n9\t50 %\t2.0\n8\t66%\t4\n8\t0.73\t6\n": "Within: 3 of 3 rounds are in the interval.",
	}
	for log, want := range tests {
		path := filepath.Join(t.TempDir(), "log.csv")
		if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		all := &Answers{Plan: planned}
		if err := all.Check(path); err != nil {
			t.Fatal(err)
		}
		if got := all.Answers[0].Answer[0]; got != want {
			t.Errorf("%.40q ...: %q, want %q", log, got, want)
		}
	}
}

// TestFit holds that a budget pays for fewer seeds before fewer questions, and for these before fewer rounds, and that
// what is left out or cut is said.
func TestFit(t *testing.T) {
	costs := map[string]float64{settings: 20, federate: 40, "rate": 20, "epochs": 20, "clients": 20, "slow": 30}
	for minutes, want := range map[float64]string{
		60: "trainings of 200 of 200 rounds with 10 seeds", 30: "trainings of 200 of 200 rounds with 5 seeds",
		12: "trainings of 200 of 200 rounds with 3 seeds", 5: "left out: epsilon: no",
		4.5: "trainings of 100 of 200 rounds with 3 seeds", 0.01: "",
	} {
		c := config.Default()
		c.Rounds, c.Budget.Rounds, c.Budget.TrialRounds = 200, 2000, 200
		p := &Plan{AskedRounds: 200, Minutes: minutes, base: &c, best: &c, Clients: 9, Samples: 90, Largest: 10}
		all, err := p.questions()
		if err == nil {
			for i := range all.Question {
				all.Question[i].cost = costs[all.Question[i].ID]
			}
			all.tune, all.Question[7].None = 100, "no"
			err = p.fit(all)
		}
		text := strings.Join(p.Describe(), "\n")
		if !strings.Contains(text, want) || (want == "") != (err != nil) {
			t.Errorf("%v minutes: %s, %v; want %s", minutes, text, err, want)
		}
		if cut := strings.Contains(text, "left out: slow: does not fit into the budget"); cut != (minutes < 12) {
			t.Errorf("%v minutes: %s", minutes, text)
		}
	}
}

// TestHostileLogs holds that what is not a log gives one line that says where and what would be right.
func TestHostileLogs(t *testing.T) {
	planned := &Plan{Rounds: 20, name: "error", share: true, of: map[string][]study{federate: {of(0, 0.7)}}}
	const needs = "log.csv: must have the columns round, and error, accuracy or loss, and a row for each round"
	tests := map[string]string{
		"":                               needs,
		"round,error\n":                  needs,
		"epoch,value\n1,2\n":             needs,
		"round\n1\n":                     needs,
		"round,error\n1,NaN\n":           `log.csv: row 1: error "NaN": must be a number from 0 on`,
		"round,loss\n1,1e999\n":          `log.csv: row 1: loss "1e999": must be a number from 0 on`,
		"round,loss\n1,-1\n":             `log.csv: row 1: loss "-1": must be`,
		"round,error\n1,15\n":            `log.csv: row 1: error "15": must be a share, such as 0.15`,
		"round,accuracy\n1,0\n2,85\n":    `log.csv: row 2: accuracy "85": must be a share, such as 0.15`,
		"round,eval_loss\n1,0.5\n":       needs, // that of training is predicted
		"round;error\n1;0,1,2\n":         `log.csv: row 1: error "0,1,2": must be a number`,
		"round,error\n-1,0.1\n":          `log.csv: row 1: round "-1": must be an integer`,
		"round,error\n1.5,0.1\n":         `log.csv: row 1: round "1.5": must be an integer`,
		"round,error\n99999999999,0.1\n": `log.csv: row 1: round "99999999999": must be an integer`,
		"round,error\n2,0.1\n\n2,0.1\n":  `log.csv: row 2: round "2": must be an integer above the one before`,
		"round,error\n1,0.1,7\n":         "wrong number of fields",
		"round,error\n1,\"0.1\n":         `extraneous or missing " in quoted-field`,
		"round,error\n50,0.1\n":          "log.csv: has none of the rounds that the plan predicts, which has 20",
		"PK\x03\x04\x00\x00" + strings.Repeat("\x00", 5000): needs,
	}
	for log, want := range tests {
		path := filepath.Join(t.TempDir(), "log.csv")
		if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		err := (&Answers{Plan: planned}).Check(path)
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 600 {
			t.Errorf("%.40q: %v, want %q", log, err, want)
		}
	}
}
