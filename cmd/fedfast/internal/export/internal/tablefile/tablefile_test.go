package tablefile

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/fedfast/fedfast/internal/store"
)

var example = &store.Table{
	Columns: []string{"number", "state", "client.lr", "score"},
	Rows:    [][]any{{int64(0), "COMPLETE", 0.1, int64(1)}, {int64(1), `a "b", c`, nil, 0.25}},
}

func TestTextFormats(t *testing.T) {
	for format, want := range map[string]string{
		"csv": "number,state,client.lr,score\n0,COMPLETE,0.1,1\n1,\"a \"\"b\"\", c\",,0.25\n",
		"jsonl": `{"number":0,"state":"COMPLETE","client.lr":0.1,"score":1}` + "\n" +
			`{"number":1,"state":"a \"b\", c","client.lr":null,"score":0.25}` + "\n",
	} {
		var b bytes.Buffer
		if err := Write(&b, format, example); err != nil || b.String() != want {
			t.Errorf("%s: %v\n%s, want\n%s", format, err, b.String(), want)
		}
	}
	if err := Write(nil, "xml", example); err == nil {
		t.Error("xml is a format")
	}
}

func TestParquet(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, "parquet", example); err != nil {
		t.Fatal(err)
	}
	type row struct {
		Number *int64   `parquet:"number,optional"`
		State  *string  `parquet:"state,optional"`
		LR     *float64 `parquet:"client.lr,optional"`
		Score  *float64 `parquet:"score,optional"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || *rows[1].Number != 1 || *rows[0].State != "COMPLETE" || *rows[0].LR != 0.1 || rows[1].LR != nil ||
		*rows[0].Score != 1 || *rows[1].Score != 0.25 {
		t.Errorf("%+v", rows)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range f.Schema().Columns() {
		if c[0] != example.Columns[i] {
			t.Errorf("column %d is %s, want %s", i, c[0], example.Columns[i])
		}
	}
}
