package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/fedfast/fedfast/cmd/fedfast/internal/ui/screen"
)

// trials is a table as tune prints it, with names in wide characters.
func trials(columns int) string {
	var b strings.Builder
	t := sized(&b, columns, []string{"trial", "rounds", "round 1", "round 3", "round 9", "round 27", "outcome", "params"})
	t.Row("3", "27", "0.9100", "0.6000", "0.1000", "0.0500", "best, kept",
		"batch=32 epochs=3 lr=0.0316 momentum=0.9 model=日本語の名前 server.momentum=0")
	t.Row("12", "1", "0.9700", "-", "-", "-", "stopped",
		"batch=128 epochs=1 lr=1e-04 momentum=0.1 model=小さい server.momentum=0.9")
	if err := t.Flush(); err != nil {
		panic(err)
	}
	return b.String()
}

// TestTablesFit writes nothing wider than the terminal and leaves no word out.
func TestTablesFit(t *testing.T) {
	words := strings.Fields(trials(0))[13:] // after the head, whose names stand before each cell of a record
	words = slices.DeleteFunc(words, func(w string) bool { return w == "-" })
	for columns := 40; columns <= 200; columns++ {
		text := trials(columns)
		for line := range strings.Lines(text) {
			if w := screen.Width(strings.TrimSuffix(line, "\n")); w > columns {
				t.Errorf("%d columns: a line takes %d: %q", columns, w, line)
			}
		}
		there := map[string]int{}
		for word := range strings.FieldsSeq(text) {
			there[word]++
		}
		for _, word := range words {
			if there[word]--; there[word] < 0 {
				t.Errorf("%d columns: %q is missing in\n%s", columns, word, text)
			}
		}
	}
}

func TestLayouts(t *testing.T) {
	for columns, want := range map[int]string{
		0: `trial  rounds  round 1  round 3  round 9  round 27  outcome     params
3      27      0.9100   0.6000   0.1000   0.0500    best, kept  batch=32 epochs=3 lr=0.0316 momentum=0.9 model=日本語の名前 server.momentum=0
12     1       0.9700   -        -        -         stopped     batch=128 epochs=1 lr=1e-04 momentum=0.1 model=小さい server.momentum=0.9
`,
		100: `trial  rounds  round 1  round 3  round 9  round 27  outcome     params
3      27      0.9100   0.6000   0.1000   0.0500    best, kept  batch=32 epochs=3 lr=0.0316
                                                                momentum=0.9 model=日本語の名前
                                                                server.momentum=0
12     1       0.9700   -        -        -         stopped     batch=128 epochs=1 lr=1e-04
                                                                momentum=0.1 model=小さい
                                                                server.momentum=0.9
`,
		40: `3
    rounds: 27    round 1: 0.9100
    round 3: 0.6000    round 9: 0.1000
    round 27: 0.0500
    outcome: best, kept
    params: batch=32 epochs=3
        lr=0.0316 momentum=0.9
        model=日本語の名前
        server.momentum=0
12
    rounds: 1    round 1: 0.9700
    outcome: stopped
    params: batch=128 epochs=1
        lr=1e-04 momentum=0.1
        model=小さい server.momentum=0.9
`,
	} {
		if got := trials(columns); got != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", columns, got, want)
		}
	}
}

// TestValuesFit keeps a checksum in one piece and hangs what is wrapped.
func TestValuesFit(t *testing.T) {
	var b strings.Builder
	table := sized(&b, 40, nil)
	table.Row("rounds", "48")
	table.Row("note", "two thirds of the clients have fewer than ten examples")
	table.Row("weights_sha256", strings.Repeat("0123456789abcdef", 4))
	table.Row("")
	table.Row("a name", "with a value of its own\x1b[2J")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `rounds          48
note            two thirds of the
                clients have fewer than
                ten examples
weights_sha256
    0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

a name  with a value of its own\x1b[2J
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestWrapsAsAShellReads has a command go on in the next line, unless a word of it is quoted, and a number keep
// its unit.
func TestWrapsAsAShellReads(t *testing.T) {
	const quoted = "fedfast tune 'found it/config.toml' --seeds 5"
	for text, want := range map[string][]string{
		"fedfast tune first --seeds 5 --study all": {"fedfast tune first " + goesOn, "--seeds 5 --study all"},
		quoted:                                   {quoted},
		"17 (45.45 % of 11), 52 (36.36 % of 11)": {"17 (45.45 % of 11), 52", "(36.36 % of 11)"},
	} {
		if got := wrap(text, 26); !slices.Equal(got, want) {
			t.Errorf("%q is wrapped to %q, want %q", text, got, want)
		}
	}
}
