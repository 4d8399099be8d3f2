package data

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
)

// TableConfig are the keys of tables, see SetInfo.Table.
type TableConfig struct {
	// column to predict: classes, or numbers (see data.columns)
	LabelColumn string `toml:"label_column" with:"csv parquet-columns" also:"target label y outcome label_col"`
	// Positive makes two classes of the labels: an operator, none being =, and a number or text.
	//
	// labels that are class 1, all others being class 0: an operator and a value, such as > 0
	Positive string `toml:"positive" with:"csv parquet-columns" also:"positive_class pos_label"`
	// column that names the client of each row; default: each of several files is a client; one file is
	// dealt by data.partition
	ClientColumn string `toml:"client_column" with:"csv parquet-columns" also:"client site hospital group user"`
	// columns left out
	DropColumns []string `toml:"drop_columns" with:"csv parquet-columns" also:"ignore exclude"`
	// Columns has the type of a column by its name.
	//
	// type of a column: number, category, or "date D/M/Y", "date M/D/Y" or "date YMD" (20250131); "number
	// MEAN DEVIATION" and "category a|b|c" also fix what is otherwise measured; default: by the values
	Columns map[string]any `toml:"columns" with:"csv parquet-columns" also:"dtype types schema"`
	// texts that stand for a missing value, such as -9, as do empty ones, NA, NaN, N/A, null, None and ?
	Missing []string `toml:"missing" with:"csv parquet-columns" also:"na_values"`
	// what a missing number becomes, next to an input that says so: the mean of the training samples, the
	// median of the clients' medians, or a number; drop: leave such rows out; default: mean
	Impute string `toml:"impute" with:"csv parquet-columns" also:"imputation fillna"`
	// number of training samples below which categories share one input, with those seen in validation and
	// test only; 0: 5
	Rare int `toml:"rare" in:"[0, inf)" with:"csv parquet-columns" also:"min_frequency"`
	// Header is nil where the first row of each file decides.
	//
	// the first row has the names of the columns, else they are X1, X2, ...; default: if none of its
	// fields is a number
	Header *bool `toml:"header" with:"csv"`
	// character between fields; default: the first of tab, ; | and , in the first row
	Delimiter string `toml:"delimiter" with:"csv" also:"separator sep"`
	// decimal sign of numbers; default: .
	Decimal string `toml:"decimal" of:". ," with:"csv parquet-columns"`
	// character set of files that are not UTF-8, such as latin1, windows-1252, gbk or utf-16
	Charset string `toml:"charset" with:"csv"`
}

// The words of Impute; others are numbers.
const (
	ImputeMean   = "mean"
	ImputeMedian = "median"
	ImputeDrop   = "drop"
)

// defaultRare is Rare when it is not set.
const defaultRare = 5

// checkTable fills in the defaults of a table's keys and reports what is wrong with them.
func (c *Config) checkTable(s *SetInfo, bad func(string, ...any)) {
	if !s.Table {
		v := reflect.ValueOf(c.TableConfig)
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				bad("data.%s: %s is no table, as csv is; leave it out", v.Type().Field(i).Tag.Get("toml"), s.Name)
			}
		}
		return
	}
	for i, v := 0, reflect.ValueOf(c.TableConfig); i < v.NumField(); i++ {
		if tag := v.Type().Field(i).Tag; s.Name == "parquet-columns" && tag.Get("with") == "csv" && !v.Field(i).IsZero() {
			bad("data.%s: for tables in text form; leave it out with %s", tag.Get("toml"), s.Name)
		}
	}
	if c.Normalize == "" || c.Normalize == NormalizeAuto {
		c.Normalize = NormalizeGlobal
	}
	c.Impute = cmp.Or(c.Impute, ImputeMean)
	c.Rare = cmp.Or(c.Rare, defaultRare)
	words := []string{ImputeMean, ImputeMedian, ImputeDrop}
	if x, err := strconv.ParseFloat(c.Impute, 32); !slices.Contains(words, c.Impute) && (err != nil || x-x != 0) {
		bad("data.impute = %q: must be mean, median, drop or a number", c.Impute)
	}
}

// Column describes a number of a table's samples, see Federation.Columns.
type Column struct {
	Name string
	// Values are the sorted names of a category; a sample has the place of its own. nil is a number.
	Values []string
	// Gaps says that samples may have none: a NaN.
	Gaps bool
	// Fixed says that nothing is measured: a number is scaled by Mean and Std, and a category has all Values.
	Fixed     bool
	Mean, Std float64
	// Missing are the shares of samples without a value.
	Missing Spread
}

// Spread is a number of all clients together, and those of the clients with the least and the most of it.
type Spread struct {
	Name  string  `json:"name"`
	All   float64 `json:"all"`
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

// add adds a client's number.
func (s *Spread) add(x float64, first bool) {
	if s.Most = max(s.Most, x); first || x < s.Least {
		s.Least = x
	}
}
