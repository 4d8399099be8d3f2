package progress

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
	"github.com/fedfast/fedfast/fl/study"
	"github.com/fedfast/fedfast/fl/study/result"
	"github.com/fedfast/fedfast/internal/test/screentest"
)

// TestLineFits draws every kind of state at every width from 40 on: it takes one
// row, and shows how far all is.
func TestLineFits(t *testing.T) {
	states := map[string]State{
		"rounds": {Done: 97, All: 20000, Parts: []Part{
			{Text: "trial 123 (1000 of 2000)", Rank: 3},
			{Text: "loss 0.1234", Rank: 4},
			{Text: "lowest score 0.0312", Rank: 2},
			{Text: "97 of 20000", Behind: true},
			{Text: "1h20m17s left", Rank: 1, Behind: true},
		}},
		"a file": {Done: 1, All: 3, Parts: []Part{
			{Text: "連合学習のデータ/研究室の画像と文字の集まり.sqlite.lzma.part"},
			{Text: "1.2 of 1234.5 MB", Rank: 1, Behind: true},
		}},
		"no end":     {Done: 5e6, Parts: []Part{{Text: strings.Repeat("long", 40)}, {Text: "5.0 MB", Rank: 1, Behind: true}}},
		"evaluation": {Done: 3400, All: 3400, Parts: []Part{{Text: "evaluated on 3400 of 3400 clients"}}},
	}
	for name, s := range states {
		for columns := 40; columns <= 200; columns++ {
			text := s.text(columns - 1)
			if w := screen.Width(text); w >= columns {
				t.Errorf("%s at %d columns takes %d: %q", name, columns, w, text)
			}
			if s.All > 0 && !strings.Contains(text, "% |") {
				t.Errorf("%s at %d columns has no bar: %q", name, columns, text)
			}
		}
	}
	for columns, want := range map[int]string{
		45:  "  0% |           | 97 of 20000, 1h20m17s left",
		80:  "lowest score 0.0312   0% |                        | 97 of 20000, 1h20m17s left",
		120: "trial 123 (1000 of 2000), loss 0.1234, lowest score 0.0312   0% |                        | 97 of 20000, 1h20m17s left",
	} {
		if got := states["rounds"].text(columns); got != want {
			t.Errorf("at %d columns: got %q, want %q", columns, got, want)
		}
	}
}

// TestRowsWhateverTheWidth changes the width between any two drawings and lines of
// a log: the terminal shows these and one row of progress, or two where the state
// has them.
func TestRowsWhateverTheWidth(t *testing.T) {
	terminal := screentest.New(100)
	l := NewLine(terminal, terminal.Columns)
	want := []string{"a head"}
	if _, err := l.Print([]byte("a head\n")); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		terminal.Resize(40 + i*37%100)
		l.state = State{Done: int64(i), All: 200, Parts: []Part{
			{Text: "trial 12 (5 of 27)", Rank: 2},
			{Text: "日本語の名前", Rank: 1},
			{Text: of(i, 200), Behind: true},
		}}
		more := 1
		if i%30 >= 15 {
			more, l.state.Below = 2, []Part{{Text: "below"}, {Text: strings.Repeat("long ", 15), Rank: 1}}
		}
		l.draw()
		if i%20 == 10 {
			want = append(want, "a log line")
			if _, err := l.Print([]byte("a log line\n")); err != nil {
				t.Fatal(err)
			}
		}
		rows := terminal.Rows()
		if len(rows) != len(want)+more || !slices.Equal(rows[:len(want)], want) || !strings.Contains(rows[len(want)],
			of(i, 200)) ||
			more == 2 && !strings.HasPrefix(rows[len(want)+1], "below") {
			t.Fatalf("drawing %d at %d columns shows %q", i, terminal.Columns(), rows)
		}
	}
	l.Close()
	if rows := terminal.Rows(); !slices.Equal(rows, want) {
		t.Errorf("%q stay", rows)
	}
}

// TestDisplayOnTerminal leaves one line of a study. Before, it tells a preparation,
// its rounds and the end one after the other, in two rows that hold their width.
func TestDisplayOnTerminal(t *testing.T) {
	terminal := screentest.New(80)
	clock := time.Unix(0, 0)
	d := New(terminal, terminal.Columns, "a head\n", func() time.Time { return clock })
	shows := func(want ...string) {
		t.Helper()
		if rows := terminal.Rows(); !slices.Equal(rows, want) {
			t.Errorf("the terminal shows\n%q, want\n%q", rows, want)
		}
	}
	update := func(second int, p study.Progress) {
		clock = time.Unix(int64(second), 0)
		d.line.drawn = time.Time{} // not too soon
		d.Update(p)
	}
	none := math.NaN()
	unknown, best := result.Standing{Score: none}, result.Standing{Trial: 1, Score: 0.125, Rounds: 5, Clients: 10}
	errors := result.Scale{Metric: "error", Percent: true}
	update(9, study.Progress{Preparing: true, Trial: 7, Round: 8, Rounds: 8, Score: 0.5, Best: unknown, Loss: none})
	shows("a head", "preparing client tuner, error 0.5 100% |████████████████████████| 8 of 8")
	update(10, study.Progress{
		Trial: 1, TrialRound: 1, ToRound: 3, Round: 1, Rounds: 400, Loss: 2, Best: unknown,
		Clients: 10, Trials: 27, TrialsLeft: 27,
	})
	shows("a head", "  0% |                        | round   1 of 400", "loss 2, 27 trials, trial 1 (1 of 3)")
	update(12, study.Progress{
		Trial: 1, TrialRound: 3, ToRound: 3, Round: 2, Rounds: 400, Loss: 0.5, Best: best,
		Scale: errors, Clients: 10, Trials: 27, TrialsLeft: 27,
	})
	shows("a head", "  0% |                        | round   2 of 400, ETA 13m16s, 5.0 clients/s",
		"best ~12.50 % val error (trial 1), loss 0.5, 27 trials, trial 1 (3 of 3)")
	update(20, study.Progress{
		Trial: 22, TrialRound: 29, ToRound: 30, Round: 380, Rounds: 400, Loss: 0.25, Best: best,
		Scale: errors, Clients: 10, Rung: 2, Trials: 27, TrialsLeft: 9,
	})
	shows("a head", " 95% |██████████████████████  | round 380 of 400, ETA 1m40s, 2.0 clients/s",
		"best ~12.50 % val error (trial 1), rung 2, 9 of 27 trials active")
	if _, err := d.Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	d.line.drawn = time.Time{}
	d.Evaluated(study.Evaluated{Model: "finalist 2 of 3", Clients: 7, Of: 10})
	shows("a head", "a log line", "finalist 2 of 3: evaluated on  7 of 10 clients  70% |██████████     | ETA 1m40s")
	d.Close()
	d.Close()
	shows("a head", "a log line", "round 380 of 400 in 10s, best ~12.50 % val error (trial 1)")
	if _, err := d.Write([]byte("more\n")); err != nil {
		t.Fatal(err)
	}
	shows("a head", "a log line", "round 380 of 400 in 10s, best ~12.50 % val error (trial 1)", "more")
}
