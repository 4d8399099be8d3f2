package export

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	library "github.com/parquet-go/parquet-go"

	"github.com/fedfast/fedfast/fl"
	"github.com/fedfast/fedfast/nn"
)

// predicted is a row of the file, as another reader of Parquet takes it.
type predicted struct {
	Client      *string  `parquet:"client"`
	Split       *string  `parquet:"split"`
	Example     *int64   `parquet:"example"`
	Step        *int64   `parquet:"step"`
	Label       *int64   `parquet:"label"`
	Predicted   *int64   `parquet:"predicted"`
	Probability *float64 `parquet:"probability"`
}

// TestPredictionFiles writes more rows than a group holds, with masked labels between them,
// and reads them back.
func TestPredictionFiles(t *testing.T) {
	const perExample = 3
	p := fl.Predictions{Split: "val"}
	var want []int64 // places of the labels that count
	for i := range perExample * 30_000 {
		label := int32(i % 7)
		if i%5 == 4 {
			label = -1
		} else {
			want = append(want, int64(i))
		}
		p.Labels = append(p.Labels, label)
		p.Best = append(p.Best, nn.Prediction{Class: int32(i % 3), Probability: 0.25})
	}
	dir := t.TempDir()
	for _, name := range []string{"p.parquet", "p.csv"} {
		path := filepath.Join(dir, name)
		f, err := create(path)
		if err != nil {
			t.Fatal(err)
		}
		f.rows = columns(0)
		if err := f.begin(); err != nil {
			t.Fatal(err)
		}
		if err := f.add("a, \"b\"", p, perExample); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s stands there before it is whole", name)
		}
		if err := f.commit(); err != nil {
			t.Fatal(err)
		}
		if err := f.to.Close(); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := library.ReadFile[predicted](filepath.Join(dir, "p.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(want) || len(rows) <= groupRows {
		t.Fatalf("%d rows, want %d, in more than a group", len(rows), len(want))
	}
	for i, r := range rows {
		at := want[i]
		if *r.Client != "a, \"b\"" || *r.Split != "val" || *r.Example != at/perExample || *r.Step != at%perExample ||
			*r.Label != at%7 || *r.Predicted != at%3 || *r.Probability != 0.25 {
			t.Fatalf("row %d is of the label at %d: %+v", i, at, r)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "p.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != len(want)+1 || lines[1] != `"a, ""b""",val,0,0,0,0,0.25` {
		t.Errorf("%d lines, the second %s", len(lines), lines[1])
	}
	if _, err := create(filepath.Join(dir, "p.txt")); err == nil {
		t.Error("a name without a format is taken")
	}
	f, err := create(filepath.Join(dir, "gone.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.to.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v, %v: a file that was not committed is left", left, err)
	}
}
