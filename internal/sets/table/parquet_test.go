package table_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// visit is a row of a table as pandas saves them: what may be missing is optional.
type visit struct {
	Age      *float64  `parquet:"age,optional"`
	Sex      *string   `parquet:"sex,optional,dict"`
	Smokes   *bool     `parquet:"smokes,optional"`
	Born     int32     `parquet:"born,date"`
	Seen     time.Time `parquet:"seen,timestamp(nanosecond)"`
	Cost     int64     `parquet:"cost,decimal(2:12)"`
	Steps    *int64    `parquet:"steps,optional"`
	Cells    uint32    `parquet:"cells"`
	Lab      lab       `parquet:"lab"`
	Hospital uint64    `parquet:"hospital"`
	Ill      string    `parquet:"ill,delta"`
	Index    int64     `parquet:"__index_level_0__"`
}

type lab struct {
	Iron float32 `parquet:"iron,split"`
}

// visits returns rows, some of which have gaps, and the same as text.
func visits(t testing.TB, n int) ([]visit, string) {
	t.Helper()
	var text strings.Builder
	w := csv.NewWriter(&text)
	settest.Must(t, w.Write(strings.Split("age,sex,smokes,born,seen,cost,steps,cells,lab.iron,hospital,ill", ",")))
	all := make([]visit, n)
	for i := range all {
		day := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i*7001) * time.Second)
		v := visit{
			Age: new(20.5 + float64(i%977)/8), Sex: new([]string{"f", "m", "x"}[i%3]), Smokes: new(i%5 == 0),
			Born: int32(i%9000 - 99), Seen: day, Cost: int64(i*i%99991 - 50), Steps: new(int64(i) * 3),
			Cells: math.MaxUint32 - 99999*uint32(i%5001),
			Lab:   lab{float32(i%64) / 4}, Hospital: math.MaxUint64 - uint64(i%4),
			Ill: []string{"no", "yes"}[i/3%2], Index: int64(i),
		}
		row := []string{
			fmt.Sprint(*v.Age), *v.Sex, strconv.FormatBool(*v.Smokes),
			time.Unix(int64(v.Born)*86400, 0).UTC().Format(time.DateOnly),
			day.Format(time.RFC3339), fmt.Sprintf("%.2f", float64(v.Cost)/100), strconv.FormatInt(*v.Steps, 10),
			strconv.FormatUint(uint64(v.Cells), 10),
			fmt.Sprint(v.Lab.Iron), strconv.FormatUint(v.Hospital, 10), v.Ill,
		}
		if i%7 == 3 {
			v.Age, row[0] = nil, ""
		}
		if i%11 == 4 {
			v.Age, row[0] = new(math.NaN()), "NaN"
		}
		if i%13 == 5 {
			v.Sex, row[1] = nil, ""
		}
		if i%6 == 2 {
			v.Smokes, row[2] = nil, ""
		}
		if i%5 == 1 || i > n/2 && i < n*3/4 { // also whole pages of none
			v.Steps, row[6] = nil, ""
		}
		all[i] = v
		settest.Must(t, w.Write(row))
	}
	w.Flush()
	return all, text.String()
}

// TestParquetIsAsText: a table is the same from Parquet's columns as from text, with few and with many values.
func TestParquetIsAsText(t *testing.T) {
	for _, n := range []int{60, 20_000} {
		rows, text := visits(t, n)
		dir := settest.Folder(t, map[string]string{"a.csv": text})
		f, err := os.Create(filepath.Join(dir, "a.parquet"))
		settest.Must(t, err)
		w := library.NewGenericWriter[visit](f, library.Compression(&library.Zstd), library.MaxRowsPerRowGroup(7000),
			library.PageBufferSize(4000))
		_, err = w.Write(rows)
		settest.Must(t, err)
		settest.Must(t, w.Close())
		settest.Must(t, f.Close())
		cfg := data.Config{
			Name: "csv", Path: filepath.Join(dir, "a.csv"),
			TableConfig: data.TableConfig{LabelColumn: "ill", ClientColumn: "hospital", Missing: []string{"-0.5"}},
		}
		want := opened(t, cfg)
		cfg.Name, cfg.Path = "parquet-columns", filepath.Join(dir, "a.parquet")
		got := opened(t, cfg)
		if got != want || !strings.Contains(got, "numbers: age, born, seen, cost, steps, cells, lab.iron") ||
			!strings.HasPrefix(got, "[18446744073709551612 ") {
			t.Errorf("%d rows: from Parquet\n%.3000s\nfrom text\n%.3000s", n, got, want)
		}
		cfg.LabelColumn, cfg.ClientColumn, cfg.DropColumns = "", "site", []string{"x"}
		want = `data.label_column is not set, data.client_column = "site" is no column; the columns of `
		if got := opened(t, cfg); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
		cfg.LabelColumn, cfg.ClientColumn, cfg.DropColumns = "ill", "age", nil
		if got, want := opened(t, cfg), "a.parquet row 1: 20.5 names a client; read are integers and names"; n < 99 &&
			!strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestOddParquet: types that older writers and databases have, and what is refused.
func TestOddParquet(t *testing.T) {
	type row struct {
		Seen  deprecated.Int96 `parquet:"seen"`
		ID    [16]byte         `parquet:"id,uuid"`
		Cost  [5]byte          `parquet:"cost,decimal(2:11)"`
		Text  []byte           `parquet:"text"`
		Who   string           `parquet:"who"`
		Label int64            `parquet:"y"`
	}
	open := func(text string, set func(*data.Config)) string {
		rows := make([]row, 4)
		for i := range rows {
			noon := uint64(43200e9) // of a Julian day from 1970-01-02 on
			rows[i] = row{
				Seen: deprecated.Int96{uint32(noon), uint32(noon >> 32), uint32(2440589 + i)}, ID: [16]byte{1, 15: byte(i % 2)},
				Cost: [5]byte{255, 255, 255, 255, byte(156 + 50*i)}, Text: []byte(text),
				Who: "ab"[i/2 : i/2+1], Label: int64(i % 2),
			}
		}
		path := filepath.Join(t.TempDir(), "a.parquet")
		settest.Must(t, library.WriteFile(path, rows))
		cfg := data.Config{
			Name: "parquet-columns", Path: path, MinSamples: 1, Split: "100/0/0", Normalize: "none", IID: new(false),
			TableConfig: data.TableConfig{LabelColumn: "y", ClientColumn: "who", Rare: 1},
		}
		set(&cfg)
		return opened(t, cfg)
	}
	none := func(*data.Config) {}
	for _, want := range []string{
		"numbers: seen, cost", "categories (how many): id (2), text (1)", "[1.5 1 0 -1 1]", "[2.5 0 1 -0.5 1]",
	} {
		if got := open("x", none); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := open("m\xe4nnlich", none); !strings.Contains(got, `column text: row 1: "m\xe4nnlich" is not valid UTF-8`) {
		t.Error(got)
	}
	for key, set := range map[string]func(*data.Config){
		"delimiter": func(c *data.Config) { c.Delimiter = ";" },
		"header":    func(c *data.Config) { c.Header = new(true) },
		"charset":   func(c *data.Config) { c.Charset = "latin1" },
	} {
		want := "data." + key + ": for tables in text form; leave it out with parquet-columns"
		if got := open("x", set); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
