package recorded

import (
	"embed"

	"github.com/fedfast/fedfast/internal/formats/parquet"
)

// Example is the name of the built-in table: a small one, of data that are drawn, which its study
// file says how to record.
const Example = "example"

//go:embed example
var builtin embed.FS

// example reads it.
func example() (*Table, error) {
	return read("example/example"+Suffix, builtin.ReadFile, func(path string) (parquet.Source, error) {
		f, err := builtin.Open(path)
		if err != nil {
			return nil, err
		}
		return f.(parquet.Source), nil
	})
}
