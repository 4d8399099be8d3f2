package table

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fedfast/fedfast/data"
	"github.com/fedfast/fedfast/internal/formats/parquet"
)

// parquetRows are the rows of a file in Parquet's format, which has them column by column.
type parquetRows struct{ *parquet.File }

func openParquet(_ *data.Config, path string) (source, error) {
	f, err := parquet.Open(path)
	if err == nil && len(f.Columns) > maxColumns {
		err = errors.Join(fmt.Errorf("%s: %d columns, must be at most %d", path, len(f.Columns), maxColumns), f.Close())
	}
	return parquetRows{f}, err
}

func (f parquetRows) columns() (names []string, _ string) {
	for i := range f.Columns {
		c := &f.Columns[i]
		c.Gaps, names = true, append(names, strings.Join(c.Path, "."))
	}
	return names, ""
}

func (f parquetRows) each(ctx context.Context, read []bool, call func(int, int, string, float64) error) error {
	for i := range f.Columns {
		c := &f.Columns[i]
		if !read[i] {
			continue
		}
		err := f.Each(ctx, c, func(row int, v parquet.Value) error {
			text, x, err := c.Cell(v)
			if err != nil {
				return fmt.Errorf("row %d: %w", row, err)
			}
			return call(i, row, text, x)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
