package table_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/test/settest"
)

// plain is a table of two clients with all rows for training, as odd says what differs from it.
const plain = "age,sex,y,who\n20,m,0,a\n30,f,1,a\n40,m,1,b\n50,f,0,b\n"

// packed returns a text packed by gzip or Zstandard.
func packed(t *testing.T, text, by string) string {
	t.Helper()
	var to bytes.Buffer
	if by == "gzip" {
		w := gzip.NewWriter(&to)
		_, err := w.Write([]byte(text))
		settest.Must(t, err)
		settest.Must(t, w.Close())
		return to.String()
	}
	w, err := zstd.NewWriter(&to)
	settest.Must(t, err)
	_, err = w.Write([]byte(text))
	settest.Must(t, err)
	settest.Must(t, w.Close())
	return to.String()
}

// TestOddFiles opens tables as people have them.
func TestOddFiles(t *testing.T) {
	texts := func(i int) string { return fmt.Sprintf("%d,text %d,%d,a", i, i, i%2) }
	words := func(i int) string {
		return strings.Replace(fmt.Sprintf("%d,m,%d,a", i, i%2), "7,m", "seven,m", 1)
	}
	rows := func(n int, row func(i int) string) string {
		var text strings.Builder
		text.WriteString("age,sex,y,who\n")
		for i := range n {
			text.WriteString(row(i) + "\n")
		}
		return text.String()
	}
	for _, tt := range []struct {
		name  string
		files map[string]string
		set   func(*data.Config)
		want  []string // what the facts, the notes or the error have
	}{
		{
			"plain",
			map[string]string{"a.csv": plain},
			nil,
			[]string{
				"[a b] 2+2 of 3, 2 classes",
				"numbers: age",
				"categories (how many): sex (2)",
				"2 columns are 3 inputs",
				"[-1.3416408 0 1]",
			},
		},
		{"BOM", map[string]string{"a.csv": "\ufeff" + plain}, nil, []string{"2+2 of 3"}},
		{"two BOMs", map[string]string{"a.csv": "\ufeff\ufeff" + plain}, nil, []string{"2+2 of 3", "numbers: age"}},
		{
			"sep=",
			map[string]string{"a.csv": "\ufeffsep=;\r\n" + strings.ReplaceAll(plain, ",", ";")},
			nil,
			[]string{"2+2 of 3"},
		},
		{"quoted sep=", map[string]string{"a.csv": "\"sep=,\"\n" + plain}, nil, []string{"2+2 of 3"}},
		{"CRLF", map[string]string{"a.csv": strings.ReplaceAll(plain, "\n", "\r\n")}, nil, []string{"2+2 of 3"}},
		{"gzip", map[string]string{"a.csv.gz": packed(t, plain, "gzip")}, nil, []string{"2+2 of 3"}},
		{"zstandard", map[string]string{"a.csv.zst": packed(t, plain, "zstd")}, nil, []string{"2+2 of 3"}},
		{
			"UTF-16",
			map[string]string{"a.csv": "\xff\xfe" + strings.Join(strings.Split(plain, ""), "\x00") + "\x00"},
			nil,
			[]string{"2+2 of 3"},
		},
		{
			"semicolons and decimal commas",
			map[string]string{"a.csv": strings.ReplaceAll(strings.ReplaceAll(plain, ",", ";"), "0;", "0,5;")},
			func(c *data.Config) { c.Decimal, c.Positive = ",", "> 0.5" },
			[]string{"2+2 of 3", "[-1.3416408 0 1]"},
		},
		{
			"decimal commas not said",
			map[string]string{"a.csv": strings.ReplaceAll(strings.ReplaceAll(plain, ",", ";"), "0;m", "0,5;m")},
			nil,
			[]string{
				`column age: "20,5" (`,
				`a.csv line 2) has a decimal comma; set data.decimal = ","`,
			},
		},
		{"tabs", map[string]string{"a.tsv": strings.ReplaceAll(plain, ",", "\t")}, nil, []string{"2+2 of 3"}},
		{
			"empty fields between tabs",
			map[string]string{"a.tsv": strings.ReplaceAll(strings.ReplaceAll(plain, "m", ""), ",", "\t")},
			nil,
			[]string{"2+2 of 3", "categories (how many): sex (1)"},
		},
		{
			"other delimiter",
			map[string]string{"a.csv": strings.ReplaceAll(plain, ",", "^")},
			func(c *data.Config) { c.Delimiter = "^" },
			[]string{"2+2 of 3"},
		},
		{
			"no delimiter",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Delimiter = "ab" },
			[]string{`data.delimiter = "ab": must be one character, or tab`},
		},
		{
			"quotes with line breaks",
			map[string]string{
				"a.csv": strings.ReplaceAll(strings.ReplaceAll(plain, "m", "\"m\nale, \"\"x\"\"\""), "age", `"age"`),
			},
			nil,
			[]string{"2+2 of 3"},
		},
		{
			"open quote",
			map[string]string{"a.csv": strings.Replace(plain, "m", `"m`, 1)},
			nil,
			[]string{`a.csv line 5: a quote is in the wrong place, or missing; write "" for one within quotes (`},
		},
		{
			"a quote that swallows the file",
			map[string]string{"a.csv": plain + `1,"` + strings.Repeat("x,\n", 6<<20)},
			nil,
			[]string{"a.csv: a row of more than 16 MB; is a quote missing?"},
		},
		{
			"empty lines",
			map[string]string{"a.csv": "\n" + strings.ReplaceAll(plain, "\n", "\n\n")},
			nil,
			[]string{"2+2 of 3"},
		},
		{
			"ragged",
			map[string]string{"a.csv": plain + "60,m,1\n"},
			nil,
			[]string{"a.csv line 6: 3 fields, the first row has 4"},
		},
		{
			"duplicate and empty names",
			map[string]string{"a.csv": "age,age,,y,who\n1,2,3,0,a\n2,3,4,1,a\n3,5,6,1,b\n3,6,6,0,b\n"},
			nil,
			[]string{
				"2+2 of 3",
				"column age is there several times; the last one is age.1",
				"numbers: age, age.1, X3",
			},
		},
		{
			"a million columns",
			map[string]string{"a.csv": strings.Repeat("a,", 1e6) + "y\n"},
			nil,
			[]string{"a.csv: 1000001 columns, must be at most 16384"},
		},
		{
			"Latin-1",
			map[string]string{"a.csv": strings.ReplaceAll(plain, "m", "m\xe4nnlich")},
			func(c *data.Config) { c.Charset = "latin1" },
			[]string{"2+2 of 3"},
		},
		{
			"Latin-1 not said",
			map[string]string{"a.csv": strings.ReplaceAll(plain, "m", "m\xe4nnlich")},
			nil,
			[]string{
				`a.csv line 2: "m\xe4nnlich" is not valid UTF-8; set data.charset, such as "latin1"`,
			},
		},
		{
			"unknown charset",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Charset = "klingon" },
			[]string{`data.charset = "klingon": unknown; use a name such as latin1`},
		},
		{
			"bytes",
			map[string]string{"a.csv": "PK\x03\x04\x00\x00\x00"},
			nil,
			[]string{"a.csv is a zip archive, such as Excel's, or a part of one; unpack it, save its sheet as CSV"},
		},
		{
			"a client of one row",
			map[string]string{"a.csv": plain + "60,m,1,c\n"},
			func(c *data.Config) { c.MinSamples = 2 },
			[]string{
				"[a b] 2+2 of 3",
				"1 clients have fewer than data.min_samples = 2 samples (1 samples): left out",
			},
		},
		{
			"a constant column",
			map[string]string{"a.csv": "one,age,y,who\n1,20,0,a\n1,30,1,a\n1,40,1,b\n1,50,0,b\n"},
			nil,
			[]string{"[0 -1.3416408]", "columns of one value, which tell nothing: one\n"},
		},
		{
			"a column that numbers the rows",
			map[string]string{"a.csv": ",age,y,who\n0,7,0,a\n1,3,1,a\n2,9,1,b\n3,4,0,b\n4,8,0,a\n5,1,1,a\n" +
				"6,5,1,b\n7,2,0,b\n8,6,0,a\n9,7,1,b\n"},
			nil,
			[]string{"columns that number the rows; to leave them out, data.drop_columns = [\"X1\"]"},
		},
		{
			"a column that counts again and again",
			map[string]string{"a.csv": "n,y,who\n" + strings.Repeat("0,0,a\n1,1,a\n2,1,a\n3,0,a\n4,1,a\n"+
				"5,0,a\n6,1,a\n7,1,a\n8,0,a\n9,1,a\n10,1,a\n11,0,a\n", 3)},
			nil,
			[]string{"taken for numbers: n\nlabel y"},
		},
		{
			"dates of digits",
			map[string]string{"a.csv": "day,y,who\n20240229,0,a\n20231231,1,a\n20250101.0,1,b\n,0,b\n"},
			nil,
			[]string{`numbers that are dates, such as 20250131, if data.columns = { NAME = "date YMD" } says so: day`},
		},
		{
			"dates of digits named",
			map[string]string{"a.csv": "day,y,who\n19700102,0,a\n19700301,1,a\n19700131.0,1,b\n,0,b\n"},
			func(c *data.Config) { c.Normalize, c.Columns = "none", map[string]any{"day": "date YMD"} },
			[]string{"of them dates as YYYYMMDD: day", "[1 0]", "[59 0]", "[30 0]"},
		},
		{
			"digits that are no dates",
			map[string]string{"a.csv": "day,y,who\n20240229,0,a\n20230229,1,b\n"},
			func(c *data.Config) { c.Columns = map[string]any{"day": "date YMD"} },
			[]string{`data.columns.day = "date YMD": "20230229" (`, "a.csv line 3) is none"},
		},
		{
			"a date that stands for none",
			map[string]string{"a.csv": "in,out,y,who\n1900-01-01,9999-12-31,0,a\n2024-01-02,2024-01-03,1,a\n" +
				"2023-01-02,2023-01-03,1,b\n2024-05-02,2024-05-03,0,b\n"},
			nil,
			[]string{
				`1900-01-01 is far from other values; if it stands for none, data.missing = ["1900-01-01"]: in`,
				`9999-12-31 is far from other values; if it stands for none, data.missing = ["9999-12-31"]: out`,
			},
		},
		{
			"a price that is not known",
			map[string]string{"a.csv": "age,y,who\n20,1.5,a\n30,2.25,a\n40,unknown,b\n50,3,b\n"},
			nil,
			[]string{
				`column y: 1 of 4 values are not numbers: "unknown" (`,
				`add them to data.missing if they stand for no value; name its type, such as data.columns = { y = "category" }`,
			},
		},
		{
			"prices in rupees",
			map[string]string{"a.csv": "age,y,who\n20,₹1.5,a\n30,\"₹1,002.25\",a\n40,Rs. 7,b\n50,30 kr,b\n"},
			nil,
			[]string{"label y: numbers to predict"},
		},
		{
			"integers to predict",
			map[string]string{"a.csv": rows(24, func(i int) string { return fmt.Sprintf("%d,m,%d,a", i%5, i%12) })},
			nil,
			[]string{`label y: data.columns = { y = "number" } predicts the numbers instead of classes`},
		},
		{
			"many prices",
			map[string]string{"a.csv": rows(5000, func(i int) string { return fmt.Sprintf("%d,m,%d.5,a", i%5, 10*i) })},
			nil,
			[]string{"label y: numbers to predict"},
		},
		{
			"a column of parts",
			map[string]string{"a.csv": strings.NewReplacer("m", "train", "f", "test").Replace(plain)},
			nil,
			[]string{"save these rows in a file whose name has the word test, and drop the column (data.drop_columns): sex"},
		},
		{
			"clients that may be one",
			map[string]string{"a.csv": strings.Replace(plain, "0,a", "0,A", 1)},
			nil,
			[]string{"some clients differ only in capitals, spaces, zeros or the encoding of accents: A, a"},
		},
		{
			"categories that may be one",
			map[string]string{"a.csv": strings.Replace(plain, "m", "M", 1)},
			nil,
			[]string{"categories of which some differ only in capitals, spaces, zeros or the encoding of accents: sex"},
		},
		{
			"codes",
			map[string]string{"a.csv": strings.Replace(plain, "20", "020", 1)},
			nil,
			[]string{`numbers with zeros before them, which data.columns = { NAME = "category" } makes categories: age`},
		},
		{
			"lines of an old Mac",
			map[string]string{"a.csv": strings.ReplaceAll(plain, "\n", "\r")},
			nil,
			[]string{"a.csv: its lines end with CR alone; save it with LF or CR LF"},
		},
		{
			"a client without rows",
			map[string]string{"a.csv": plain, "b.csv": "age,sex,y,who\n"},
			nil,
			[]string{"files without rows: b.csv"},
		},
		{
			"names of columns that are numbers",
			map[string]string{"a.csv": strings.Replace(plain, "age", "2020", 1)},
			nil,
			[]string{"are X1, X2, X3, X4: the first row has numbers: it is a sample"},
		},
		{
			"a label that stands for none",
			map[string]string{"a.csv": strings.Replace(plain, ",0,", ",-9,", 1)},
			nil,
			[]string{`label y: -9 may stand for no value; data.missing = ["-9"] leaves its rows out`},
		},
		{
			"one class",
			map[string]string{"a.csv": strings.ReplaceAll(plain, ",0,", ",1,")},
			nil,
			[]string{"label y: all are of one class; there is nothing to learn"},
		},
		{
			"a label after many columns",
			map[string]string{"a.csv": "a,b,c,d,e,f,g,h,i,j,k,y,who\n1,1,1,1,1,1,1,1,1,1,1,1,a\n"},
			func(c *data.Config) { c.LabelColumn = "" },
			[]string{"a.csv are a, b, c, d, e, ..., j, k, y, who"},
		},
		{
			"separators of thousands",
			map[string]string{"a.csv": "pay,y,who\n\"4,258\",0,a\n957,1,a\n\"1,200.5\",1,b\n12,0,b\n"},
			func(c *data.Config) { c.Normalize = "none" },
			[]string{"numbers: pay", "of them amounts: pay", "[4258]", "[1200.5]"},
		},
		{
			"separators of thousands or decimal commas",
			map[string]string{"a.csv": "pay,y,who\n\"4,258\",0,a\n957,1,a\n\"1,200\",1,b\n12,0,b\n"},
			nil,
			[]string{`column pay: "4,258" (`, `has a separator of thousands or a decimal sign; set data.decimal = "." or ","`},
		},
		{
			"amounts",
			map[string]string{"a.csv": "pay;part;cost;n;y;who\n$113,500.00;12,5 %;€ 3;1_000;0;a\n-$2.50;3 %;1.250 €;7;1;a\n" +
				"USD 12;0,25%;-4,5;2_500;1;b\n$ 7;100 %;€ 12,5;9;0;b\n"},
			func(c *data.Config) { c.Normalize = "none" },
			[]string{
				"numbers: pay, part, cost, n", "of them amounts: pay, n",
				"of them amounts with decimal commas: part, cost", "[113500 12.5 3 1000]", "[-2.5 3 1250 7]", "[12 0.25 -4.5 2500]",
			},
		},
		{
			"German dates",
			map[string]string{"a.csv": "day;y;who\n02.01.1970;0;a\n3.1.1970 12:00;1;a\n31.01.1970;1;b\n;0;b\n"},
			func(c *data.Config) { c.Normalize = "none" },
			[]string{"of them dates, day before month: day", "[1 0]", "[2.5 0]", "[30 0]"},
		},
		{
			"American dates",
			map[string]string{"a.csv": "day,y,who\n01/02/1970,0,a\n1/31/1970 6:00 PM,1,a\n1/3/1970 12:00:00 am,1,b\n,0,b\n"},
			func(c *data.Config) { c.Normalize = "none" },
			[]string{"of them dates, month before day: day", "[1 0]", "[30.75 0]", "[2 0]"},
		},
		{
			"dates of unknown order",
			map[string]string{"a.csv": "day,born,y,who\n01/02/1970,1.2.1970,0,a\n01/03/1970,1.3.1970,1,b\n"},
			func(c *data.Config) { c.Normalize = "none" },
			[]string{
				"of them dates, day before month: born", "of them dates, month before day: day", "[1 31]", "[2 59]",
				`no day above 12 tells the order of day and month; data.columns = { NAME = "date D/M/Y" } takes the other: day`,
				`no day above 12 tells the order of day and month; data.columns = { NAME = "date M/D/Y" } takes the other: born`,
			},
		},
		{
			"an order of day and month",
			map[string]string{"a.csv": "day,y,who\n01/02/1970,0,a\n01/03/1970,1,b\n"},
			func(c *data.Config) { c.Normalize, c.Columns = "none", map[string]any{"day": "date D/M/Y"} },
			[]string{"of them dates, day before month: day\nlabel", "[31]", "[59]"},
		},
		{
			"an order of day and month that does not fit",
			map[string]string{"a.csv": "day,y,who\n01/02/1970,0,a\n01/31/1970,1,b\n"},
			func(c *data.Config) { c.Columns = map[string]any{"day": "date D/M/Y"} },
			[]string{`data.columns.day = "date D/M/Y": "01/31/1970" (`, "a.csv line 3) is none"},
		},
		{
			"days and months in both orders",
			map[string]string{"a.csv": "day,y,who\n31/01/1970,0,a\n01/31/1970,1,b\n05/06/1970,1,b\n"},
			nil,
			[]string{`column day: 1 of 3 values are not dates: "01/31/1970" (`, "a.csv line 3)"},
		},
		{
			"time zones",
			map[string]string{"a.csv": "day,y,who\n1970-01-02T02:00:00+02:00,0,a\n1970-01-03 00:00:00 UTC,1,a\n" +
				"1970-01-04 12:00:00.5Z,1,b\n1970-01-04 22:00-0500,0,b\n"},
			func(c *data.Config) { c.Normalize = "none" },
			[]string{"numbers: day", "[1]", "[2]", "[3.5]", "[4.125]"},
		},
		{
			"many dates",
			map[string]string{"a.csv": rows(9000, func(i int) string {
				return fmt.Sprintf("%02d.%02d.%d,m,%d,a", 1+i%28, 1+i/28%12, 1970+i/336, i%2)
			})},
			func(c *data.Config) { c.Normalize = "none" },
			[]string{"of them dates, day before month: age", "[27 1]", "[9781 1]"},
		},
		{
			"two digits of a year",
			map[string]string{"a.csv": rows(60, func(i int) string { return fmt.Sprintf("%d.1.%02d,m,%d,a", 1+i%28, i, i%2) })},
			nil,
			[]string{`column age: 60 different texts in 60 rows, such as "1.1.00"`},
		},
		{
			"booleans in several spellings",
			map[string]string{"a.csv": "ill,y,who\nYes,0,a\nno,1,a\nyes,1,b\nNO,0,b\n"},
			func(c *data.Config) { c.Normalize = "none" },
			[]string{"categories (how many): ill (2)", "[0 1]", "[1 0]"},
		},
		{
			"booleans as numbers",
			map[string]string{"a.csv": "ill,y,who\nyes,0,a\nF,1,a\ntrue,1,b\nn,0,b\n"},
			func(c *data.Config) { c.Normalize, c.Columns = "none", map[string]any{"ill": "number"} },
			[]string{"of them numbers, 1 for yes and 0 for no: ill", "[1]\n[0]\n[1]\n[0]"},
		},
		{
			"few numbers and a text",
			map[string]string{"a.csv": "age,y,who\n20,0,a\n30,1,a\nabc,1,b\ninf,0,b\n20,0,a\n30,1,a\n-inf,1,b\n40,0,b\n"},
			nil,
			[]string{
				`column age: 3 of 8 values are not numbers: "abc", "inf", "-inf" (`,
				"a.csv line 4); add them to data.missing if they stand for no value; " +
					"leave it out by data.drop_columns, or name its type",
			},
		},
		{
			"a text behind many numbers",
			map[string]string{"a.csv": rows(6000, func(i int) string {
				return strings.Replace(fmt.Sprintf("%d,m,%d,a", i, i%2), "5555", "?x", 1)
			})},
			nil,
			[]string{
				`column age: "?x" (`,
				"a.csv line 5557) is no number, as all before are; add it to data.missing if it stands for no value",
			},
		},
		{
			"too many categories",
			map[string]string{"a.csv": rows(5000, texts)},
			func(c *data.Config) { c.Columns = map[string]any{"sex": "category"} },
			[]string{
				`column sex: more than 4096 different texts, such as "text 0" (`,
				"line 2); leave it out by data.drop_columns",
			},
		},
		{
			"a label that is there twice",
			map[string]string{"a.csv": "age,y,y,who\n1,0,0,a\n2,1,1,a\n3,1,1,b\n4,0,0,b\n"},
			nil,
			[]string{`data.label_column = "y": must be one column of `},
		},
		{
			"a label that is dropped",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.DropColumns = []string{"y"} },
			[]string{`data.label_column = "y": must be one column of `},
		},
		{
			"numbers that floats hardly tell apart",
			map[string]string{"a.csv": "id,age,y,who\n1000000001,20,0,a\n1000000002,30,1,a\n" +
				"1000000003,40,1,b\n1000000064,50,0,b\n"},
			nil,
			[]string{"[0 -1.3416408]"},
		},
		{
			"labels that floats do not tell apart",
			map[string]string{"a.csv": "age,y,who\n20,1436278513418522601,a\n30,1436278513418522602,a\n" +
				"40,1436278513418522601,b\n50,1436278513418522602,b\n"},
			nil,
			[]string{"label y: 2 classes", "1436278513418522602"},
		},
		{
			"dates",
			map[string]string{
				"a.csv": "day,y,who\n1970-01-02,0,a\n1970-01-03,1,a\n1970-01-04T12:00:00,1,b\n1970-01-05,0,b\n",
			},
			func(c *data.Config) { c.Normalize = "none" },
			[]string{"numbers: day", "[1]", "[3.5]"},
		},
		{
			"a line in a name",
			map[string]string{"a.csv": strings.Replace(plain, "age", "age|years", 1)},
			nil,
			[]string{"2+2 of 3", "numbers: age|years"},
		},
		{
			"neither label nor client",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.LabelColumn, c.ClientColumn = "", "site" },
			[]string{
				`data.label_column is not set, data.client_column = "site" is no column; the columns of `,
				"a.csv are age, sex, y, who",
			},
		},
		{
			"a row without a label",
			map[string]string{"a.csv": plain + "60,m,,b\n"},
			nil,
			[]string{"1 of 5 rows are left out: they have no label\n"},
		},
		{
			"booleans",
			map[string]string{"a.csv": "ill,y,who\nyes,0,a\nno,1,a\nyes,1,b\nno,0,b\n"},
			func(c *data.Config) { c.Normalize = "none" },
			[]string{"categories (how many): ill (2)", "[0 1]"},
		},
		{
			"missing values",
			map[string]string{"a.csv": "age,sex,y,who\nNA,?,0,a\n30,f,1,a\n,m,1,b\n50,NaN,0,b\n"},
			nil,
			[]string{"2 columns are 4 inputs", "[0 1 0 1]", "which are one input (how many): sex (2)"},
		},
		{
			"missing values by the median",
			map[string]string{"a.csv": "age,sex,y,who\n1,m,0,a\n3,f,1,a\n9,m,1,a\n100,m,1,b\n,f,0,b\n"},
			func(c *data.Config) { c.Impute, c.Normalize = "median", "none" },
			[]string{"[3 1 1 0]", "at most 34 bytes"},
		},
		{
			"missing values by a number",
			map[string]string{"a.csv": "age,sex,y,who\n1,m,0,a\n3,f,1,a\n9,m,1,b\n,f,0,b\n"},
			func(c *data.Config) { c.Impute, c.Normalize = "-7", "none" },
			[]string{"[-7 1 1 0]"},
		},
		{
			"rows with missing values dropped",
			map[string]string{"a.csv": plain + ",m,1,b\n60,m,,b\n"},
			func(c *data.Config) { c.Impute = "drop" },
			[]string{"2+2 of 3", "2 of 6 rows are left out: they have no label, or a missing value"},
		},
		{
			"codes for missing values",
			map[string]string{"a.csv": plain + "-9,m,1,b\n"},
			nil,
			[]string{
				`-9 is far from other values; if it stands for none, data.missing = ["-9"]: age`,
			},
		},
		{
			"codes said",
			map[string]string{"a.csv": plain + "-9.0,m,1,b\n"},
			func(c *data.Config) { c.Missing = []string{"-9"} },
			[]string{"2+3 of 4"},
		},
		{
			"ids of 64 bits",
			map[string]string{"a.csv": "id,age,y,who\n1436278513418522630,1,0,a\n1436278513418522631,2,1,b\n"},
			nil,
			[]string{
				"column id: integers such as 1436278513418522630 are ids rather than amounts; leave it out by data.drop_columns",
			},
		},
		{
			"clients by ids of 64 bits",
			map[string]string{
				"a.csv": "who,age,y\n9036278513418522631,1,0\n9036278513418522630,2,1\n9036278513418522631,3,1\n",
			},
			nil,
			[]string{"[9036278513418522630 9036278513418522631] 1+2 of 1"},
		},
		{
			"texts",
			map[string]string{"a.csv": rows(60, texts)},
			nil,
			[]string{
				`column sex: 60 different texts in 60 rows, such as "text 0" (`,
				`a.csv line 2); leave it out by data.drop_columns, or name its type, such as data.columns = { sex = "category" }`,
			},
		},
		{
			"texts named",
			map[string]string{"a.csv": rows(60, texts)},
			func(c *data.Config) { c.Columns = map[string]any{"sex": "category"} },
			[]string{"categories (how many): sex (60)", "2 columns are 2 inputs", "sex (60)"},
		},
		{
			"a word among numbers",
			map[string]string{"a.csv": rows(60, words)},
			nil,
			[]string{
				`column age: 6 of 60 values are not numbers: "seven", "1seven", "2seven", ... (`,
				"a.csv line 9); add them to data.missing if they stand for no value",
			},
		},
		{
			"numbers as categories",
			map[string]string{
				"a.csv": strings.ReplaceAll(strings.ReplaceAll(plain, "m", "1"), "f", "2.0") +
					strings.Repeat("60,2,1,b\n60,3,1,b\n", 5),
			},
			nil,
			[]string{"makes categories: sex"},
		},
		{
			"numbers named categories",
			map[string]string{
				"a.csv": strings.ReplaceAll(strings.ReplaceAll(plain, "m", "1"), "f", "2.0") + "60,2,1,b\n",
			},
			func(c *data.Config) { c.Columns = map[string]any{"sex": "category"} },
			[]string{"categories (how many): sex (2)"},
		},
		{
			"a type that does not fit",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Columns = map[string]any{"sex": "number"} },
			[]string{
				`data.columns.sex = "number": "m" (`,
				`) is none; add it to data.missing if it stands for no value`,
			},
		},
		{
			"no type",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Columns = map[string]any{"sex": "gender"} },
			[]string{"data.columns.sex = gender: must be number or category"},
		},
		{
			"a type of no column",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Columns = map[string]any{"sexe": "number"} },
			[]string{"data.columns.sexe: no such column, or that of clients"},
		},
		{
			"fixed",
			map[string]string{"a.csv": plain},
			func(c *data.Config) {
				c.Columns = map[string]any{"age": "number 40 10", "sex": "category f|m|x"}
			},
			[]string{"2 columns are 4 inputs (data.normalize = \"global\")", "[-2 0 1 0]"},
		},
		{
			"fixed without all",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Columns = map[string]any{"sex": "category f|x"} },
			[]string{"is not listed; list all categories"},
		},
		{
			"no label column",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.LabelColumn = "" },
			[]string{"data.label_column is not set; the columns of ", "a.csv are age, sex, y, who"},
		},
		{
			"another label column",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.LabelColumn = "label" },
			[]string{
				`data.label_column = "label" is no column; the columns of `,
				"a.csv are age, sex, y, who",
			},
		},
		{
			"no client column",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.ClientColumn = "" },
			[]string{"data.client_column is not set, and there is one file: set it (the columns are age, sex, y, who), or " +
				"have the samples dealt, such as with data.partition = \"iid\""},
		},
		{"dealt", map[string]string{"a.csv": plain}, func(c *data.Config) {
			c.ClientColumn, c.DropColumns, c.Partition, c.Clients = "", []string{"who"}, "iid", 4
		}, []string{"[0 1 2 3] 1+1+1+1 of 3"}},
		{
			"no header",
			map[string]string{"a.csv": plain[strings.Index(plain, "\n")+1:]},
			func(c *data.Config) { c.LabelColumn, c.ClientColumn = "X3", "X4" },
			[]string{
				"2+2 of 3",
				"the first row has numbers: it is a sample; the columns are X1 to X4",
			},
		},
		{
			"a header of numbers",
			map[string]string{"a.csv": strings.Replace(plain, "age", "2020", 1)},
			func(c *data.Config) { c.Header = new(true) },
			[]string{"2+2 of 3", "numbers: 2020"},
		},
		{
			"labels that are numbers",
			map[string]string{"a.csv": strings.ReplaceAll(plain, ",1,", ",1.5,")},
			nil,
			[]string{"numbers targets", "label y: numbers to predict"},
		},
		{
			"more classes",
			map[string]string{"a.csv": strings.Replace(plain, "50,f,0", "50,f,10", 1)},
			nil,
			[]string{
				"3 classes",
				`label y: 3 classes (data.positive, such as "= 0" or "> 0", makes two of them): 0, 1, 10`,
			},
		},
		{
			"no label is positive",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Positive = "= 7" },
			[]string{`data.positive = "= 7": 0 of 4 rows are class 1; the labels are`},
		},
		{
			"many labels of a float",
			map[string]string{"a.csv": rows(10_000, func(i int) string { return fmt.Sprintf("1,m,%g,a", 0.1+float64(i/2)) })},
			func(c *data.Config) { c.Positive = "> 0.1" },
			[]string{"label y: 9998 of 10000 rows are class 1"},
		},
		{
			"a missing number among texts",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Missing = []string{"77"} },
			[]string{"categories (how many): sex (2)"},
		},
		{
			"zero is missing",
			map[string]string{"a.csv": strings.ReplaceAll(plain, "20,m", "0,m")},
			func(c *data.Config) { c.Missing, c.Positive = []string{"0"}, "= 1" },
			[]string{"data.positive"},
		},
		{
			"a dropped column that is not there",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.DropColumns = []string{"sexe"} },
			[]string{`data.drop_columns: no column sexe in `, "the columns are"},
		},
		{
			"a scale for the label",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Columns = map[string]any{"y": "number 5 2"} },
			[]string{`data.columns.y = "number 5 2": the label's type must be number or category`},
		},
		{
			"a deviation that is no number",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Columns = map[string]any{"age": "number nan 1"} },
			[]string{`data.columns.age = number nan 1: must be number or category`},
		},
		{
			"files of one name",
			map[string]string{"north/a.csv": plain, "south/a.csv": plain},
			func(c *data.Config) { c.ClientColumn, c.Path = "", filepath.Join(c.Path, "*", "a.csv") },
			[]string{"would both be client a; rename the files, or name the clients in a column"},
		},
		{
			"test files with and without clients",
			map[string]string{"a.csv": plain, "test/b.csv": plain, "test/c.csv": "age,sex,y\n1,m,0\n"},
			nil,
			[]string{"some files with test samples have the column who (data.client_column) and some have not"},
		},
		{
			"labels in words",
			map[string]string{"a.csv": strings.ReplaceAll(plain, ",1,", ",ill,")},
			func(c *data.Config) { c.Positive = "ill" },
			[]string{"2 classes", `label y: 2 of 4 rows are class 1 (data.positive = "ill")`},
		},
		{
			"comparison of words",
			map[string]string{"a.csv": strings.ReplaceAll(plain, ",1,", ",ill,")},
			func(c *data.Config) { c.Positive = "> 0" },
			[]string{`data.positive = "> 0": label "ill" (`},
		},
		{
			"no comparison",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Positive = "> ill" },
			[]string{`data.positive = "> ill": must be an operator`},
		},
		{
			"a file a client",
			map[string]string{"b.csv": plain, "a.csv": plain, "README.md": "x", "more.txt": "y"},
			func(c *data.Config) { c.ClientColumn = ""; c.DropColumns = []string{"who"} },
			[]string{"[a b] 4+4 of 3", "files that are left out: README.md, more.txt"},
		},
		{
			"several files",
			map[string]string{"b.csv": plain, "a.csv": plain, "c.csv": plain, "d/e.csv": plain},
			func(c *data.Config) {
				c.ClientColumn, c.DropColumns = "", []string{"who"}
				c.Path = filepath.Join(c.Path, "b.csv") + ", " + filepath.Join(c.Path, "d", "*.csv")
			},
			[]string{"[b e] 4+4 of 3"},
		},
		{
			"other endings",
			map[string]string{"b.csv": plain, "a.dat": plain, "c.tsv": plain, "d.csv": plain, "d.md": "x"},
			func(c *data.Config) {
				c.ClientColumn, c.DropColumns = "", []string{"who"}
				list := []string{"b.csv", "a.dat", "c.tsv", "b.csv", "d.*"}
				for i, name := range list {
					list[i] = filepath.Join(c.Path, name)
				}
				c.Path = strings.Join(list, ",")
			},
			[]string{"[a b c d] 4+4+4+4 of 3", "files that are left out: "},
		},
		{
			"files of other decimal signs",
			map[string]string{"a.csv": "x,y,who\n8.643,0,a\n4.258,1,a\n", "b.csv": "x;y;who\n8,643;0;b\n4,258;1;b\n"},
			func(c *data.Config) { c.Decimal = "," },
			[]string{"column x: files disagree about the decimal", `a.csv line 2 has "8.643", `, `b.csv line 2 has "8,643"`},
		},
		{
			"another decimal sign than that of a file",
			map[string]string{"a.csv": "x;y;who\n20;0;a\n4.2;1;a\n"},
			func(c *data.Config) { c.Decimal = "," },
			[]string{`column x: data.decimal = ",", but `, `a.csv line 3 has "4.2"; `},
		},
		{
			"dots of thousands or decimal ones",
			map[string]string{"a.csv": "x;y;who\n950;0;a\n1.200;1;a\n"},
			nil,
			[]string{`column x: "1.200" (`, `a.csv line 3) has a separator of thousands or a decimal sign; set`},
		},
		{
			"dots that are decimal",
			map[string]string{"a.csv": "x;y;who\n0.950;0;a\n1.200;1;a\n"},
			func(c *data.Config) { c.Normalize = "none" },
			[]string{"numbers: x", "[0.95]", "[1.2]"},
		},
		{
			"many numbers with other decimal signs",
			map[string]string{
				"a.csv": rows(5000, func(i int) string { return fmt.Sprintf("%d.%03d,m,%d,a", 1+i/1000, i%1000, i%2) }),
				"b.csv": strings.Replace(strings.ReplaceAll(plain, ",", ";"), "20;", "8,643;", 1),
			},
			nil,
			[]string{"column age: files disagree about the decimal sign: ", `b.csv line 2 has "8,643"`},
		},
		{
			"files of other orders of day and month",
			map[string]string{"a.csv": "x,y,who\n03/18/2023,0,a\n01/02/2023,1,a\n", "b.csv": "x,y,who\n16.01.2023,0,b\n"},
			nil,
			[]string{`column x: files disagree on day`, `b.csv line 2 has "16.01.2023", `, `a.csv line 2 has "03/18/2023"`},
		},
		{
			"Latin-1 and UTF-8",
			map[string]string{
				"a.csv": strings.ReplaceAll(plain, "m", "K\xf6ln"),
				"b.csv": strings.ReplaceAll(plain, "m", "Köln"),
			},
			func(c *data.Config) { c.Charset = "latin1" },
			[]string{"categories (how many): sex (2)", `files that are not UTF-8, read as data.charset = "latin1": a.csv`},
		},
		{
			"a folder among several files",
			map[string]string{"b.csv": plain, "d/e.csv": plain},
			func(c *data.Config) { c.Path = filepath.Join(c.Path, "b.csv") + "," + filepath.Join(c.Path, "d") },
			[]string{"d is a folder; list its files, such as "},
		},
		{
			"several files, one of which is not there",
			map[string]string{"b.csv": plain, "a.csv": plain},
			func(c *data.Config) { c.Path = filepath.Join(c.Path, "b.csv") + "," + filepath.Join(c.Path, "x.csv") },
			[]string{"no such file as "},
		},
		{
			"a site lacks a column",
			map[string]string{"b.csv": plain, "a.csv": "y,age\n1,2\n0,3\n"},
			func(c *data.Config) { c.ClientColumn = ""; c.DropColumns = []string{"who"} },
			[]string{
				"[a b] 2+4 of 4",
				"columns without a value in the training samples of some clients (how many): sex (1)",
			},
		},
		{
			"test files",
			map[string]string{
				"train/a.csv": plain,
				"train/b.csv": plain,
				"test/a.csv":  strings.ReplaceAll(plain, "m", "x"),
				"test/b.csv":  plain,
			},
			func(c *data.Config) {
				c.ClientColumn, c.Split = "", "100/0/files"
				c.DropColumns = []string{"who"}
			},
			[]string{
				"[a b] 4+4 of 3, 2 classes, 8 test",
				"files with test samples, by their names: test/a.csv, test/b.csv",
				"categories that only validation or test samples have: sex = x",
			},
		},
		{
			"a central test file",
			map[string]string{"train.csv": plain, "test.csv": "age,sex,y\n3,m,1\n"},
			func(c *data.Config) { c.Split = "100/0/files" },
			[]string{"[a b] 2+2 of 3, 2 classes, 1 test"},
		},
		{
			"a row without a client",
			map[string]string{"a.csv": plain + "1,m,1,NA\n"},
			nil,
			[]string{`a.csv line 6: no client, but "NA" (data.client_column); leave such rows out`},
		},
		{
			"ids that were floats",
			map[string]string{"a.csv": plain + "1,m,1,1.43628E+18\n"},
			nil,
			[]string{`a.csv line 6: 1.43628e+18 names a client, but floats round ids from 9007199254740992`},
		},
		{
			"ids that look like floats",
			map[string]string{"a.csv": plain + "1,m,1,12e34\n1,m,1,1.5\n1,m,1,20260101123456789012\n"},
			nil,
			[]string{"[1.5 12e34 20260101123456789012 a b]"},
		},
		{
			"other data",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Name, c.Path = "fashion-small", "" },
			[]string{
				"data.label_column: fashion-small is no table, as csv is; leave it out",
				"data.client_column: ",
			},
		},
		{
			"each client's own",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Normalize = "client" },
			[]string{
				"[-1 0 1]",
				"(data.normalize = \"client\"); for them each client sends at most 18 bytes",
			},
		},
		{
			"nothing measured",
			map[string]string{"a.csv": plain},
			func(c *data.Config) { c.Impute = "several" },
			[]string{`data.impute = "several": must be mean, median, drop or a number`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := settest.Folder(t, tt.files)
			path := dir
			if len(tt.files) == 1 {
				for name := range tt.files {
					path = filepath.Join(dir, name)
				}
			}
			cfg := data.Config{
				Name: "csv", Path: path, Split: "100/0/0", MinSamples: 1, IID: new(false),
				TableConfig: data.TableConfig{LabelColumn: "y", ClientColumn: "who", Rare: 1},
			}
			if strings.Contains(tt.name, "missing values") || tt.name == "texts named" {
				cfg.Rare = 2
			}
			if strings.Contains(tt.name, "by the") || strings.Contains(tt.name, "by a number") {
				cfg.Rare = 1
			}
			if tt.set != nil {
				tt.set(&cfg)
			}
			got := opened(t, cfg)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s\nhas no %s", got, want)
				}
			}
		})
	}
}

// opened describes a federation: its clients, notes and all inputs, or why it cannot be opened.
func opened(t *testing.T, cfg data.Config) string {
	t.Helper()
	fed, err := data.Open(t.Context(), cfg)
	if err != nil {
		return err.Error()
	}
	var ids, sizes []string
	var inputs strings.Builder
	tests := fed.Test.Len()
	for _, c := range fed.Clients {
		ids, sizes = append(ids, c.ID), append(sizes, strconv.Itoa(c.Train.Len()))
		tests += c.Test.Len()
		x, _, _ := settest.Filled(t, fed, c.Train)
		for row := range slices.Chunk(x, fed.C) {
			fmt.Fprintln(&inputs, row)
		}
	}
	return fmt.Sprintf("%v %s of %d, %d classes, %d test, %s targets\n%s\n%s", ids, strings.Join(sizes, "+"),
		fed.C, fed.Classes, tests, fed.Target, strings.Join(fed.Notes, "\n"), inputs.String())
}

// TestNothingThere: paths and folders without tables.
func TestNothingThere(t *testing.T) {
	dir := settest.Folder(t, map[string]string{
		"empty.csv": "", "none/README.md": "x", "pictures/test/cat/1.png": "x",
		"lines.csv": "\n\n", "head.csv": "y,x\n",
	})
	for path, want := range map[string]string{
		"empty.csv": "empty.csv: the file is empty",
		"none":      "none: no .csv, .tsv, .data, .txt file of training samples in it",
		"pictures":  `but pictures in its folders, which data.name = "image-folder" reads`,
		"nowhere":   "no such file or folder",
		"*.tsv":     "no .csv, .tsv, .data, .txt file of training samples",
		"lines.csv": "lines.csv: there are no rows",
		"head.csv":  `there is no column with values beside data.label_column = "y"`,
	} {
		cfg := data.Config{Name: "csv", Path: filepath.Join(dir, path), Partition: "iid"}
		cfg.LabelColumn = "y"
		if got := opened(t, cfg); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	settest.Must(t, os.Remove(filepath.Join(dir, "empty.csv")))
	settest.Must(t, os.Remove(filepath.Join(dir, "lines.csv")))
	want := fmt.Sprintf("data.label_column is not set, data.client_column is not set; the columns of %s are y, x",
		filepath.Join(dir, "head.csv"))
	if got := opened(t, data.Config{Name: "csv", Path: filepath.Join(dir, "*.csv")}); !strings.Contains(got, want) {
		t.Error(got)
	}
}
